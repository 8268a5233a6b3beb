import type { Backend, BackendDetails } from '../../tenancy/backends/backendSchemas.ts';
import type { BundleDiff } from '../../tenancy/bundles/bundleSchemas.ts';
import type { ErrorBody } from '../../api/commonSchemas.ts';
import type { Fleet, Trouble } from '../../tenancy/envs/envSchemas.ts';
import type { Caller } from '../../tenancy/people/peopleSchemas.ts';

/** The answers of the API, by the schemas of the service. */
export type {
  Backend,
  BackendDetails,
  BackendList,
  HeldEnv,
  HeldHost,
  InstallKit,
  ReceivedReport,
  ReportList,
  RestoreReview,
  Retirement,
  UnknownArchive,
} from '../../tenancy/backends/backendSchemas.ts';
export type { Bundle, BundleDiff, BundleList } from '../../tenancy/bundles/bundleSchemas.ts';
export type { Env, EnvDetails, EnvList, Fleet, Trouble } from '../../tenancy/envs/envSchemas.ts';
export type {
  AuditEntry,
  AuditLog,
  Caller,
  Operator,
  OperatorList,
  Session,
  SessionList,
} from '../../tenancy/people/peopleSchemas.ts';
export type {
  NewRollback,
  NewRollout,
  Rollback,
  Rollout,
  RolloutEdit,
  RolloutHosts,
  RolloutList,
  RolloutPreview,
} from '../../tenancy/rollouts/rolloutSchemas.ts';
export type { Secret, SecretList, SecretVersion } from '../../tenancy/secrets/secretSchemas.ts';
export type { Webhook, WebhookList } from '../../tenancy/webhooks/webhookSchemas.ts';

export type Role = Caller['role'];
export type EnvCounts = Fleet['envs'][number];
export type TroubleGroup = Trouble['groups'][number];
export type HostCopy = BackendDetails['copies'][number];
export type BackendState = Backend['state'];
export type Refusal = NonNullable<ErrorBody['error']['refusals']>[number];
export type Difference = BundleDiff['files'][number];
export type PartDifference = BundleDiff['services'][number];
