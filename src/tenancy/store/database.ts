import type { JWK } from 'jose';
import type { Generated, Selectable } from 'kysely';
import type { FinishingStep } from '../../../machines/backend.ts';
import type { Report } from '../../protocol/report.ts';
import type { EventType, WebhookEvent, WebhookFormat } from '../../protocol/webhooks.ts';
import type { BundleTrust } from '../../signatures/bundleTrust.ts';
import type { BackendTable } from './backendTable.ts';
import type { Json } from './columns.ts';
import type { RolloutTable } from './rolloutTable.ts';

/** The tables. Times are milliseconds since 1970; booleans are 0 or 1; `Json` columns are text. */
export interface Database {
  envs: EnvTable;
  backends: BackendTable;
  reports: ReportTable;
  signing_keys: SigningKeyTable;
  bundles: BundleTable;
  rollouts: RolloutTable;
  archives: ArchiveTable;
  signatures: SignatureTable;
  bundle_trusts: BundleTrustTable;
  operators: OperatorTable;
  sessions: SessionTable;
  pending_steps: PendingStepTable;
  audit: AuditTable;
  webhooks: WebhookTable;
  webhook_deliveries: WebhookDeliveryTable;
}

/** The place of a row in a list that is ordered by a time and then by an id. */
export interface Place {
  time: number;
  id: string;
}

export interface EnvTable {
  name: string;
  production: number;
  /** Digest of the desired bundle. */
  desired_sha: string | null;
  /** The highest sequence that was given to a bundle. */
  last_sequence: number;
  /** The sequence of the newest bundle that was pushed; a push with a lower one is stale. */
  pushed_sequence: number | null;
  /** The rollout that is neither done nor aborted. */
  rollout_id: Generated<string | null>;
  /** A deleted env keeps its row, so that one that is created again under its name gives no sequence twice. */
  deleted_at: number | null;
}

export interface ReportTable {
  report_id: string;
  backend_id: string;
  received_at: number;
  outcome: string;
  body: Json<Report>;
}

export interface SigningKeyTable {
  kid: string;
  /** From when on it signs; it is published before. */
  active_from: number;
  public_jwk: Json<JWK>;
  /** PKCS 8, encrypted by the key file. */
  sealed_key: string;
}

export interface BundleTable {
  sha256: string;
  env: string;
  name: string;
  version: string;
  sequence: number;
  size_bytes: number;
  production: number;
  allow_privileged: number;
  allow_rollback: number;
  /** Whether hosts that permit it apply it outside their windows. */
  emergency: Generated<number>;
  received_at: number;
  /** Name of the operator who pushed it, or whose act made it. */
  received_from: string;
  /** The variables of its manifest, which are no secrets. */
  variables: Generated<Json<Record<string, string>>>;
  /** The profiles of its services that its manifest chooses. */
  profiles: Generated<Json<string[]>>;
  /** Digest of the desired bundle that it was packed from, to replace it once it is signed; null once it is desired. */
  replaces: string | null;
}

/** Removed with their bundle. */
export interface SignatureTable {
  bundle_sha256: string;
  /** Of its body. */
  sha256: string;
  /** A Sigstore bundle. */
  body: Json<object>;
  /** Who has made it, as far as the hosts of the env believe it; null for nobody, and while they demand no signature. */
  signer: string | null;
  received_at: number;
  /** Name of the operator who added it. */
  received_from: string;
}

/** Envs whose hosts demand signatures, as an operator has told. */
export interface BundleTrustTable {
  env: string;
  /** The one of `trust`. */
  threshold: number;
  trust: Json<BundleTrust>;
}

/** Archives that the bundle storage may hold, whether or not a bundle has come of them. */
export interface ArchiveTable {
  sha256: string;
  /** When it was last about to be stored. */
  announced_at: number;
  removing: number;
}

/** What an operator's token may do; each role includes those before it. */
export type Role = 'viewer' | 'deployer' | 'admin';

export interface OperatorTable {
  id: string;
  name: string;
  role: Role;
  /** The envs it is limited to; null for all. */
  envs: Json<string[]> | null;
  /** Hex sha256 of the token, which is not kept. */
  token_sha256: string;
  created_at: number;
  /** When the token ends by itself; null for never. */
  expires_at: number | null;
  /** 1 for a token that is kept for emergencies: each call by it is in the audit log. */
  break_glass: number;
  revoked_at: number | null;
  last_used_at: number | null;
}

/** A person who has signed in, in one browser. */
export interface SessionTable {
  id: string;
  /** Hex sha256 of the value of its cookie, which is not kept. */
  secret_sha256: string;
  /** The OpenID provider, and the person as it knows them. */
  issuer: string;
  subject: string;
  /** For people to read; not unique. */
  name: string;
  /** The person's groups that the configuration named when they were last checked. */
  groups: Json<string[]>;
  /** By which the groups are checked; encrypted by the key file. Null if the provider gives none. */
  sealed_refresh_token: string | null;
  /** Address of who signed in. */
  address: string;
  created_at: number;
  last_used_at: number;
  /** When the provider last told the groups. */
  checked_at: number;
  /** Until when the instance that asks the provider has that for itself. */
  claimed_until: number;
}

/** A step of finishing a backend, or what else a change has left to do at a peer. */
export type PendingStep = FinishingStep | 'deleteUnusedIdentity' | 'revokeSupersededToken' | 'destroyEnvSecrets';

/** Steps that any instance does as soon as they are due, again and again until they succeed. */
export interface PendingStepTable {
  /** Id of a backend, identity of the mesh or name of an env. */
  subject: string;
  step: PendingStep;
  tries: number;
  /** Also until when the instance that tries it has it for itself. */
  due_at: number;
  /** Why the last try has failed. */
  error: string | null;
}

/** Rows are only ever added; triggers of the database refuse everything else. */
export interface AuditTable {
  /** Rises with each entry. */
  id: Generated<number>;
  at: number;
  /** Name of the operator, or `deployd-tenancy` for what the service does by itself. */
  actor: string;
  /** Such as `backend.retire`. */
  act: string;
  /** What it was done to: an id, a digest, a path. */
  target: string;
  env: string | null;
  /** Address of the caller; null for the service itself. */
  address: string | null;
  request_id: string | null;
  /** `ok`, or the code of the error; `started` before an act at a peer, whose result follows. */
  result: string;
}

/** Where operators are notified. */
export interface WebhookTable {
  id: string;
  name: string;
  /** The env whose events it gets; null for all. */
  env: string | null;
  events: Json<EventType[]>;
  format: WebhookFormat;
  /** What may be shown of its URL. */
  origin: string;
  /** Encrypted by the key file: the URLs of chat tools are credentials. */
  sealed_url: string;
  sealed_secret: string;
  /** The secret before, which also signs until a time. */
  sealed_previous_secret: string | null;
  previous_until: number | null;
  created_at: number;
  created_by: string;
  /** Until when an instance delivers to it, for itself alone. */
  claimed_until: number;
  /** Until when nothing is sent because the endpoint has failed. */
  paused_until: number;
  /** How often it has failed since it last took something. */
  failures: number;
  /** Why the newest try has failed; null if it has not. */
  error: string | null;
}

/** Events on their way to one webhook; a row goes when the endpoint has taken it. */
export interface WebhookDeliveryTable {
  /** Rises with each event. */
  number: Generated<number>;
  /** The same at each try. */
  id: string;
  webhook_id: string;
  event: Json<WebhookEvent>;
  queued_at: number;
  due_at: number;
  tries: number;
  /** Why the last try has failed. */
  error: string | null;
  /** Since when it is a dead letter; null while it is tried. */
  dead_at: number | null;
}

export type SigningKeyRow = Selectable<SigningKeyTable>;
export type EnvRow = Selectable<EnvTable>;
export type BackendRow = Selectable<BackendTable>;
export type BundleRow = Selectable<BundleTable>;
/** A bundle in a list, without its variables and profiles, which may be long. */
export type ListedBundle = Omit<BundleRow, 'variables' | 'profiles' | 'replaces'>;
export type SignatureRow = Selectable<SignatureTable>;
export type PendingStepRow = Selectable<PendingStepTable>;
export type OperatorRow = Selectable<OperatorTable>;
export type SessionRow = Selectable<SessionTable>;
export type AuditRow = Selectable<AuditTable>;
export type WebhookRow = Selectable<WebhookTable>;
export type WebhookDeliveryRow = Selectable<WebhookDeliveryTable>;
