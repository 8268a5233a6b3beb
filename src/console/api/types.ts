import type { Static } from 'typebox';
import type {
  BackendDetails as BackendDetailsSchema,
  BackendList as BackendListSchema,
  Fleet as FleetSchema,
  InstallKit as InstallKitSchema,
  ReportList as ReportListSchema,
  Retirement as RetirementSchema,
} from '../../tenancy/backends/backendSchemas.ts';
import type {
  BundleDiff as BundleDiffSchema,
  BundleList as BundleListSchema,
} from '../../tenancy/bundles/bundleSchemas.ts';
import type {
  NewRollout as NewRolloutSchema,
  Rollout as RolloutSchema,
  RolloutList as RolloutListSchema,
} from '../../tenancy/rollouts/rolloutSchemas.ts';
import type { ErrorBody } from '../../tenancy/http/commonSchemas.ts';
import type { EnvDetails as EnvDetailsSchema, EnvList as EnvListSchema } from '../../tenancy/envs/envSchemas.ts';
import type {
  AuditLog as AuditLogSchema,
  Caller as CallerSchema,
  OperatorList as OperatorListSchema,
  SessionList as SessionListSchema,
} from '../../tenancy/people/peopleSchemas.ts';
import type {
  SecretList as SecretListSchema,
  SecretVersion as SecretVersionSchema,
} from '../../tenancy/secrets/secretSchemas.ts';
import type { WebhookList as WebhookListSchema } from '../../tenancy/webhooks/webhookSchemas.ts';

/** What the API answers, by the schemas of the service. */
export type Caller = Static<typeof CallerSchema>;
export type Role = Caller['role'];
export type EnvList = Static<typeof EnvListSchema>;
export type Env = EnvList['envs'][number];
export type Fleet = Static<typeof FleetSchema>;
export type EnvCounts = Fleet['envs'][number];
export type EnvDetails = Static<typeof EnvDetailsSchema>;
export type BackendList = Static<typeof BackendListSchema>;
export type Backend = BackendList['backends'][number];
export type BackendState = Backend['state'];
export type BackendDetails = Static<typeof BackendDetailsSchema>;
export type Retirement = Static<typeof RetirementSchema>;
export type InstallKit = Static<typeof InstallKitSchema>;
export type SecretList = Static<typeof SecretListSchema>;
export type Secret = SecretList['secrets'][number];
export type SecretVersion = Static<typeof SecretVersionSchema>;
export type AuditLog = Static<typeof AuditLogSchema>;
export type AuditEntry = AuditLog['entries'][number];
export type SessionList = Static<typeof SessionListSchema>;
export type Session = SessionList['sessions'][number];
export type OperatorList = Static<typeof OperatorListSchema>;
export type Operator = OperatorList['operators'][number];
export type Refusal = NonNullable<ErrorBody['error']['refusals']>[number];
export type ReceivedReport = NonNullable<BackendDetails['last_report']>;
export type Bundle = NonNullable<EnvDetails['desired']>;
export type BundleDiff = Static<typeof BundleDiffSchema>;
export type Difference = BundleDiff['files'][number];
export type PartDifference = BundleDiff['services'][number];
export type BundleList = Static<typeof BundleListSchema>;
export type Rollout = Static<typeof RolloutSchema>;
export type RolloutList = Static<typeof RolloutListSchema>;
export type ReportList = Static<typeof ReportListSchema>;
export type NewRollout = Static<typeof NewRolloutSchema>;
export type WebhookList = Static<typeof WebhookListSchema>;
export type Webhook = WebhookList['webhooks'][number];
