import type { JWK } from 'jose';
import type { Generated, Selectable } from 'kysely';
import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import type { HaltReason, RolloutState } from '../../../machines/rollout.ts';
import type { CheckInRequest, Deferral, Report } from '../../api/checkIn.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { EventType, WebhookEvent, WebhookFormat } from '../../api/webhooks.rules.ts';
import type { BundleTrust } from '../../signatures/trust.ts';

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

interface EnvTable {
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
  /** The highest number of a pipeline that promoted a bundle. */
  pipeline: Generated<number | null>;
  /** A deleted env keeps its row, so that one that is created again under its name gives no sequence twice. */
  deleted_at: number | null;
}

interface ReportTable {
  report_id: string;
  backend_id: string;
  received_at: number;
  outcome: string;
  body: Json<Report>;
}

interface SigningKeyTable {
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
  /** The variables of its manifest, which are not secrets. */
  variables: Generated<Json<Record<string, string>>>;
  /** The profiles of its services that its manifest chooses. */
  profiles: Generated<Json<string[]>>;
  /** Digest of the desired bundle that it was packed from, to replace it once it is signed; null once it is desired. */
  replaces: string | null;
}

/** Removed with their bundle. */
interface SignatureTable {
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
interface BundleTrustTable {
  env: string;
  /** The one of `trust`. */
  threshold: number;
  trust: Json<BundleTrust>;
}

/** Archives that the bundle storage may hold, whether or not a bundle has come of them. */
interface ArchiveTable {
  sha256: string;
  /** When it was last about to be stored. */
  announced_at: number;
  removing: number;
}

/** What an operator's token may do; each role includes those before it. */
export type Role = 'viewer' | 'deployer' | 'admin';

interface OperatorTable {
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
interface SessionTable {
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
interface PendingStepTable {
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
interface AuditTable {
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
interface WebhookTable {
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
interface WebhookDeliveryTable {
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

/** Text of a JSON value of type T. */
type Json<T> = string & { readonly json?: T };

/** Labels of a backend, by which operators select it. */
export type Labels = Record<string, string>;

/** Backends: hosts as the service knows them. */
interface BackendTable {
  id: string;
  /** Counts its changes, so that two instances never change the same state of it. */
  revision: number;
  env: string;
  site: string;
  laptop: number;
  transport: 'sdk' | 'proxy' | 'system';
  created_at: number;
  state: BackendState;
  generation: number;
  /** Tokens of this generation and newer are accepted: a restored store does not know all generations that were given. */
  oldest_generation: number;
  purge_volumes: number;
  finished: Json<FinishingStep[]>;
  /** Since when it is in its state. */
  state_since: number;
  last_seen_at: number | null;
  /** The newest check-in; null before the first. */
  check_in: Json<CheckInRequest> | null;
  /** As the newest check-in says: null before the first. */
  healthy: number | null;
  /** As the newest check-in says, in printable ASCII; empty before the first. */
  agent_version: Generated<string>;
  /** What defers the work of its host, as the newest check-in says. */
  deferred_by: Generated<Deferral | null>;
  /** Digest of the bundle that its host runs, as the newest check-in says. */
  applied_sha: string | null;
  /** Accessor of the newest token that it came with, and the generation of that token; revoked by its retirement. */
  token_accessor: string | null;
  token_generation: number | null;
  /** Which identity of the mesh its newest install kit enrols; null without one. */
  mesh_identity: string | null;
  labels: Generated<Json<Labels>>;
  /** What it is searched and sorted by: its site, then the values of its labels, in lower case, one a line. */
  search: Generated<string>;
  /** The last rollout that it has joined, by which of its waves, from 0, and how far it is with its bundle. */
  rollout_id: Generated<string | null>;
  rollout_wave: Generated<number | null>;
  rollout_outcome: Generated<HostOutcome | null>;
  /** The swarm that its host manages, as it told last. With the other managers of its env it has one desired bundle. */
  swarm_id: Generated<string | null>;
  /** 1 where another manager stands for the swarm: the one that told last that it leads, else the one that came first. */
  follower: Generated<number>;
  /** Outcome and desired bundle of the trouble that its newest report told, of which operators were notified; null for none. */
  trouble: string | null;
}

/** What a list of backends can be sorted by, and then by id. */
export type SortColumn = 'id' | 'site' | 'state' | 'last_seen_at' | 'agent_version';

/** How a list of backends is sorted. */
export interface BackendOrder {
  column: SortColumn;
  isDescending: boolean;
}

/** The place of a backend in a sorted list: the value that it is sorted by, and its id. */
export interface BackendPlace {
  key: string | number;
  id: string;
}

/** Backends that are alike in all that the fleet is counted by. */
export type BackendGroup = Pick<
  Selectable<BackendTable>,
  'state' | 'env' | 'healthy' | 'trouble' | 'agent_version' | 'applied_sha' | 'rollout_id' | 'deferred_by'
> & { backends: number };

/**
 * How far a host is with the bundle of a rollout: it has yet to apply it, runs it and is healthy, refused it or failed, or
 * had failed when an operator resumed the rollout all the same.
 */
export type HostOutcome = 'waiting' | 'succeeded' | 'failed' | 'excused';

/** Which hosts a wave takes of those that no wave before it has taken; all of them without a number. */
export interface Wave {
  count?: number;
  /** Of the active hosts with its labels, whether or not a wave has taken them, rounded up. */
  percent?: number;
  /** Hosts without one of these are left out. */
  labels?: Labels;
}

/** How a rollout goes on. */
export interface RolloutPlan {
  waves: Wave[];
  /** More hosts than this that have failed halt it. */
  max_failures: number;
  /** Seconds from the success of a wave until the next step. */
  soak_s: number;
  /** What lets a rollout go on after the soak of a wave: nothing is needed, an operator, or the answer of a webhook. */
  gate: 'none' | 'manual' | 'webhook';
  /** Id of the webhook that is asked; missing unless that is the gate. */
  gate_webhook?: string | undefined;
  /** Without any, waves start at any time. */
  windows: TimeWindow[];
}

/** Numbers of hosts of a wave; those that retire are not counted any more. */
export interface WaveProgress {
  hosts: number;
  waiting: number;
  succeeded: number;
  failed: number;
  excused: number;
  /** Silent before they were through with the bundle: servers, and laptops, for which that is normal. */
  offline: number;
  asleep: number;
}

/** Where a rollout is. */
export interface RolloutProgress {
  /** Waves that have started. */
  waves: WaveProgress[];
  /** Hosts that no wave has taken, offline ones too. */
  remaining: number;
  /** The first hosts that have failed, by id; missing where none has. */
  failed_hosts?: HostName[];
}

/** A host by its id, and by its name for people. */
export interface HostName {
  id: string;
  site: string;
}

/** What a wave may take: a host, or the managers of a swarm, which it takes together. */
export interface Candidate {
  ids: string[];
  /** Of each of them. */
  labels: Labels[];
  /** A wave has taken it before. */
  hasJoined: boolean;
}

/** Backends of an env that are alike, as far as a rollout is concerned. */
export interface HostGroup {
  /** Which wave of the rollout has taken them, from 0; null for none. */
  wave: number | null;
  outcome: HostOutcome | null;
  state: BackendState;
  /** 1 after a silence for which a server counts as offline. */
  silent: number;
  laptop: number;
  hosts: number;
}

interface RolloutTable {
  id: string;
  env: string;
  /** Digest of its bundle. */
  sha256: string;
  /** Digest of the bundle that was desired before; null for none. */
  previous_sha: string | null;
  state: RolloutState;
  state_since: number;
  /** Number of waves that have started. */
  started: number;
  halted_by: HaltReason | null;
  plan: Json<RolloutPlan>;
  /** As it was when it was last looked at. */
  progress: Json<RolloutProgress>;
  /** When the webhook of the gate is asked next; null unless the rollout waits for its answer. */
  gate_due_at: number | null;
  /** How often it was asked at this gate. */
  gate_tries: number;
  /** What it has answered last, or why it could not be asked. */
  gate_reason: string | null;
  created_at: number;
  /** Name of the operator who has started it. */
  created_by: string;
}

export type RolloutRow = Selectable<RolloutTable>;
