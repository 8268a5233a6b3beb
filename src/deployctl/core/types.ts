import type {
  Backend as CurrentBackend,
  BackendDetails as CurrentDetails,
} from '../../tenancy/backends/backendSchemas.ts';
import type {
  Bundle as CurrentBundle,
  BundleDetails as CurrentBundleDetails,
  PushedBundle as CurrentPushedBundle,
} from '../../tenancy/bundles/bundleSchemas.ts';
import type { Env as CurrentEnvRow, EnvDetails as CurrentEnv } from '../../tenancy/envs/envSchemas.ts';
import type {
  AuditEntry as CurrentAuditEntry,
  Caller,
  CreatedOperator,
  Operator as CurrentOperator,
} from '../../tenancy/people/peopleSchemas.ts';
import type {
  Rollback as CurrentRollback,
  Rollout as CurrentRollout,
  RolloutHosts as CurrentRolloutHosts,
} from '../../tenancy/rollouts/rolloutSchemas.ts';
import type { Secret, SecretVersion, SecretVersions } from '../../tenancy/secrets/secretSchemas.ts';

export type { HostCode, InstallKit, ReceivedReport, Retiring } from '../../tenancy/backends/backendSchemas.ts';
export type { ReceivedSignature } from '../../tenancy/bundles/bundleSchemas.ts';
export type { HeldEnv, RestoreReview } from '../../tenancy/backends/backendSchemas.ts';
export type { Session as PersonSession } from '../../tenancy/people/peopleSchemas.ts';
export type {
  CreatedWebhook,
  DeadLetter,
  RotatedSecret,
  Webhook,
  WebhookTest,
} from '../../tenancy/webhooks/webhookSchemas.ts';

/** An object of the API by its schema; a service of an older version does not send the `Later` fields. */
type Sent<T, Later extends keyof T> = Omit<T, Later> & Partial<Pick<T, Later>>;

export type WhoAmI = Sent<Caller, 'permissions'>;

type LaterOfBackend =
  | 'host_name'
  | 'labels'
  | 'kits_revealed'
  | 'applied_since'
  | 'desired_since'
  | 'trouble'
  | 'deferred_by'
  | 'differs'
  | 'swarm'
  | 'cloned_at'
  | 'leftover';
export type Backend = Sent<CurrentBackend, LaterOfBackend>;
export type BackendDetails = Sent<
  CurrentDetails,
  LaterOfBackend | 'host' | 'containers' | 'managers' | 'copies' | 'secrets_destroy_at'
>;
export type HostCopy = CurrentDetails['copies'][number];
export type PendingStep = BackendDetails['pending_steps'][number];

type LaterOfBundle = 'emergency' | 'signature' | 'signers';
export type Bundle = Sent<CurrentBundle, LaterOfBundle>;
export type BundleDetails = Sent<CurrentBundleDetails, LaterOfBundle | 'variables' | 'profiles'>;
export type PushedBundle = Sent<CurrentPushedBundle, LaterOfBundle>;

interface BundlesOfEnv {
  desired?: Bundle | null;
  newest?: Bundle | null;
}
export type Env = Sent<CurrentEnvRow, 'held_since' | 'desired_since' | 'previous_sha'>;
export type EnvDetails = Sent<
  Omit<CurrentEnv, keyof BundlesOfEnv>,
  'trust' | 'held_since' | 'desired_since' | 'previous_sha' | 'secrets_destroy_at'
> &
  BundlesOfEnv;
export type Trust = NonNullable<EnvDetails['trust']>;

type NamedHost = Sent<CurrentRollout['failed_hosts'][number], 'host_name'>;
export type Rollout = Omit<CurrentRollout, 'failed_hosts' | 'awaited_hosts'> &
  Record<'failed_hosts' | 'awaited_hosts', NamedHost[]>;
export type RolloutHosts = { hosts: Sent<CurrentRolloutHosts['hosts'][number], 'host_name'>[] };
export type Rollback = Sent<CurrentRollback, 'denying' | 'denying_hosts'>;
export type RolloutWave = Rollout['waves'][number];
export type WaveSize = Pick<RolloutWave, 'count' | 'percent' | 'labels'>;

export type SecretName = Sent<Secret, 'written_at' | 'written_by'>;
export type WrittenSecret = Omit<SecretVersion, 'bundle'> & { bundle: Bundle | null };
export type WrittenSecrets = Omit<SecretVersions, 'bundle'> & { bundle: Bundle | null };

type LaterOfOperator = 'expires_at' | 'break_glass' | 'display_name';
export type Operator = Sent<CurrentOperator, LaterOfOperator>;
export type AuditEntry = Sent<CurrentAuditEntry, 'count' | 'before' | 'after'>;
export type AuditLog = { entries: AuditEntry[]; next: number | null };
export type NewOperator = Sent<CreatedOperator, LaterOfOperator>;
