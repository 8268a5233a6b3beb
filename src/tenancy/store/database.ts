import type { JWK } from 'jose';
import type { Generated, Selectable } from 'kysely';
import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import type { HaltReason, RolloutState } from '../../../machines/rollout.ts';
import type { CheckInRequest, Deferral, Report } from '../../api/checkIn.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { EventType, WebhookEvent, WebhookFormat } from '../../api/webhooks.rules.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import type { BundleTrust } from '../../signatures/trust.ts';

/** The tables. Times are milliseconds since 1970; booleans are 0 or 1; `Json` columns are text. */
export interface Database {
  envs: EnvTable;
  backends: BackendTable;
  reports: ReportTable;
  signing_keys: SigningKeyTable;
  tls_certificates: TlsCertificateTable;
  bundles: BundleTable;
  rollouts: RolloutTable;
  archives: ArchiveTable;
  signatures: SignatureTable;
  bundle_trusts: BundleTrustTable;
  operators: OperatorTable;
  sessions: SessionTable;
  pending_steps: PendingStepTable;
  audit: AuditTable;
  audit_retention: AuditRetentionTable;
  webhooks: WebhookTable;
  webhook_deliveries: WebhookDeliveryTable;
  webhook_marks: WebhookMarkTable;
  /**
   * One-time codes that add a host, at most one for each backend, by their hex sha256. `host` is the hex sha256 of the key
   * of the host that has redeemed it, and `generation` the lowest one of its kits; null before.
   */
  host_codes: { hash: string; backend_id: string; expires_at: number; host: string | null; generation: number | null };
  secretstore_keys: SecretstoreKeyTable;
  secretstore_versions: SecretstoreVersionTable;
  secretstore_tokens: SecretstoreTokenTable;
}

/** The position of a row in a list that is sorted by a time and then by an id. */
export interface Place {
  time: number;
  id: string;
}

interface EnvTable {
  name: string;
  production: number;
  /** Digest of the desired bundle. */
  desired_sha: string | null;
  /** The bundle with other content that was desired before; null if it is not known. */
  previous_sha: Generated<string | null>;
  /** When the desired bundle was last promoted; a rollout promotes when it starts. Null for none. */
  desired_since: Generated<number | null>;
  /** The highest sequence that was assigned to a bundle. */
  last_sequence: number;
  /** The sequence of the newest pushed bundle; a push with a lower one is stale. */
  pushed_sequence: number | null;
  /** The rollout that is neither done nor aborted. */
  rollout_id: Generated<string | null>;
  /** The highest number of a CI pipeline that promoted a bundle. */
  pipeline: Generated<number | null>;
  /** An operator's choice for its secrets when its last host is retired; null to destroy them after the grace. */
  secrets_choice: Generated<SecretsChoice | null>;
  /** When its secrets will be destroyed, because it has no host any more; null if they are not to be. */
  secrets_destroy_at: Generated<number | null>;
  /** When a restore held it; null if it is not held, or was released. */
  held_since: Generated<number | null>;
  /** A deleted environment keeps its row, so that a new one with the same name never reuses a sequence. */
  deleted_at: number | null;
}

/** A choice for the secrets of an environment that has no host any more. */
export type SecretsChoice = 'keep' | 'destroy';

interface ReportTable {
  report_id: string;
  backend_id: string;
  received_at: number;
  outcome: string;
  body: Json<Report>;
}

interface SigningKeyTable {
  kid: string;
  /** When it starts to sign; it is published earlier. */
  active_from: number;
  public_jwk: Json<JWK>;
  /** PKCS 8, encrypted with the key file. */
  sealed_key: string;
}

/** The authority that signs the certificate of the server, and that certificate. */
interface TlsCertificateTable {
  role: 'authority' | 'server';
  /** PEM. */
  certificate: string;
  /** PKCS 8, encrypted with the key file. */
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
  /** Whether hosts that permit it apply the bundle outside their maintenance windows. */
  emergency: Generated<number>;
  received_at: number;
  /** Name of the operator who pushed it, or whose action created it. */
  received_from: string;
  /** The variables of its manifest, which are not secrets. */
  variables: Generated<Json<Record<string, string>>>;
  /** The profiles that its manifest selects. */
  profiles: Generated<Json<string[]>>;
  /**
   * Digest of the desired bundle from which it was packed and that it replaces once it is signed; null once it is
   * desired.
   */
  replaces: string | null;
  /** Digest of the first bundle from which it differs only by its sequence; null for none. */
  same_as: Generated<string | null>;
  /** Sequence of the earlier bundle whose content a rollback deploys again with this one; null for any other bundle. */
  returns_to: Generated<number | null>;
}

/** Deleted with their bundle. */
interface SignatureTable {
  bundle_sha256: string;
  /** Digest of the body. */
  sha256: string;
  /** A Sigstore bundle. */
  body: Json<object>;
  /** The trusted signer; null for an untrusted one, and while the hosts require no signature. */
  signer: string | null;
  received_at: number;
  /** Name of the operator who added it. */
  received_from: string;
}

/** Environments whose hosts require signatures, as set by an operator. */
/** Trusted signers of an environment, and its policy and maintenance windows if they were recorded too. */
export type RecordedSettings = BundleTrust & { policy?: HostPolicy; windows?: readonly string[] };

interface BundleTrustTable {
  env: string;
  /** The threshold in `trust`. */
  threshold: number;
  trust: Json<RecordedSettings>;
}

/** Archives that the bundle storage may contain, with or without a bundle. */
interface ArchiveTable {
  sha256: string;
  /** When it was last about to be stored. */
  announced_at: number;
  removing: number;
}

/** The role of an operator's token; each role includes the earlier ones. */
export type Role = 'viewer' | 'deployer' | 'admin';

interface OperatorTable {
  id: string;
  /** Printable ASCII, unique among valid tokens; older ones may have other characters. */
  name: string;
  display_name: Generated<string | null>;
  role: Role;
  /** The environments to which it is limited; null for all. */
  envs: Json<string[]> | null;
  /** Hex sha256 of the token, which is not stored. */
  token_sha256: string;
  created_at: number;
  /** When the token expires; null for never. */
  expires_at: number | null;
  /** 1 for an emergency token: each call with it is recorded in the audit log. */
  break_glass: number;
  revoked_at: number | null;
  last_used_at: number | null;
}

/** A browser session of a signed-in person. */
interface SessionTable {
  id: string;
  /** Hex sha256 of its cookie value, which is not stored. */
  secret_sha256: string;
  /** The OpenID provider, and the person's subject there; or `token`, and the id of the operator of the token. */
  issuer: string;
  subject: string;
  /** Display name; not unique. */
  name: string;
  /** The person's groups with a role, as of the last check. */
  groups: Json<string[]>;
  /** Refresh token for checking the groups, encrypted with the key file. Null if the provider issues none. */
  sealed_refresh_token: string | null;
  /** Client address of the sign-in. */
  address: string;
  created_at: number;
  last_used_at: number;
  /** When the provider last returned the groups. */
  checked_at: number;
  /** End of the claim of the instance that queries the provider. */
  claimed_until: number;
}

/** A step that finishes a backend, or another pending change at a peer. */
export type PendingStep =
  FinishingStep | 'deleteUnusedIdentity' | 'revokeSupersededToken' | 'destroyEnvSecrets' | 'deploySecret';

/** Steps that any instance runs once they are due, repeatedly until they succeed. */
interface PendingStepTable {
  /** Id of a backend, mesh identity, name of an environment or path of a secret. */
  subject: string;
  step: PendingStep;
  tries: number;
  /** Also the end of the claim of the instance that runs it. */
  due_at: number;
  /** Error of the last attempt. */
  error: string | null;
}

/** A time before which entries of the audit log may be removed. */
interface AuditRetentionTable {
  removable_before: number;
}

/**
 * Rows are added, and repeated refusals raise `count`. Old rows are removed up to a time in `audit_retention`. Triggers
 * of the database reject all other changes.
 */
interface AuditTable {
  /** Increases with each entry. */
  id: Generated<number>;
  at: number;
  /** Name of the operator, or `deployd-tenancy` for actions of the service itself. */
  actor: string;
  /** Such as `backend.retire`. */
  act: string;
  /** The object of the action: an id, a digest, a path. */
  target: string;
  env: string | null;
  /** Address of the caller; null for the service itself. */
  address: string | null;
  request_id: string | null;
  /** `ok`, or the code of the error; `started` before an action at a peer, whose result follows. */
  result: string;
  /** Number of refused calls within a minute that this entry stands for; otherwise 1. */
  count: Generated<number>;
  /** The values before and after the action, as text; null for actions that replace nothing. */
  old_value: Generated<string | null>;
  new_value: Generated<string | null>;
}

/** Webhooks that notify operators. */
interface WebhookTable {
  id: string;
  name: string;
  /** The environment whose events it gets; null for all. */
  env: string | null;
  events: Json<EventType[]>;
  format: WebhookFormat;
  /** 1: its messages do not contain the detail and output of hosts. */
  brief: number;
  /** The part of its URL that may be shown. */
  origin: string;
  /** Encrypted with the key file: the URLs of chat tools are credentials. */
  sealed_url: string;
  sealed_secret: string;
  /** The previous secret, which also signs until a time. */
  sealed_previous_secret: string | null;
  previous_until: number | null;
  created_at: number;
  created_by: string;
  /** End of the claim of the instance that delivers to it. */
  claimed_until: number;
  /** Until when nothing is sent because the endpoint has failed. */
  paused_until: number;
  /** Number of failures since the last successful delivery. */
  failures: number;
  /** Error of the newest attempt; null if it succeeded. */
  error: string | null;
}

/** Events queued for one webhook; a row is deleted once the endpoint has accepted it. */
interface WebhookDeliveryTable {
  /** Increases with each event. */
  number: Generated<number>;
  /** The same for each attempt. */
  id: string;
  webhook_id: string;
  /** Environments take turns; empty for none. */
  env: Generated<string>;
  /** The host of the event; empty for none. */
  subject: Generated<string>;
  event: Json<WebhookEvent>;
  queued_at: number;
  due_at: number;
  tries: number;
  /** Error of the last attempt. */
  error: string | null;
  /** When it became a dead letter; null while deliveries are attempted. */
  dead_at: number | null;
}

/** When a webhook got, or is to get, the newest event of a kind about a host; deleted when nobody needs it. */
interface WebhookMarkTable {
  webhook_id: string;
  /** Id of the backend. */
  subject: string;
  kind: string;
  announced_at: number;
}

export type TlsCertificateRow = Selectable<TlsCertificateTable>;
export type SigningKeyRow = Selectable<SigningKeyTable>;
export type EnvRow = Selectable<EnvTable>;
export type BackendRow = Selectable<BackendTable>;
export type BundleRow = Selectable<BundleTable>;
/** A bundle in a list, without its variables and profiles, which may be long. */
export type ListedBundle = Omit<BundleRow, 'variables' | 'profiles' | 'replaces' | 'same_as'>;
export type SignatureRow = Selectable<SignatureTable>;
export type PendingStepRow = Selectable<PendingStepTable>;
export type OperatorRow = Selectable<OperatorTable>;
export type SessionRow = Selectable<SessionTable>;
/** The owner of a session, who sees and may end it. */
export type SessionOwner = Readonly<Pick<SessionRow, 'issuer' | 'subject'>>;
export type AuditRow = Selectable<AuditTable>;
export type WebhookRow = Selectable<WebhookTable>;
export type WebhookMarkRow = Selectable<WebhookMarkTable>;
export type WebhookDeliveryRow = Selectable<WebhookDeliveryTable>;

/** Text of a JSON value of type T. */
type Json<T> = string & { readonly json?: T };

/** Labels of a backend, by which operators select it. */
export type Labels = Record<string, string>;

/** A machine in one of its boots that has used the token of a backend. */
export interface HostCopy {
  /** Null where its agent cannot read the id. */
  machine: string | null;
  boot: string | null;
  /** Its host name, as it reports it. */
  name: string;
  /** The address of its calls. */
  address: string | null;
  first_seen_at: number;
  /** Of the accepted one, the time at which it was accepted; the backend has the last check-in. */
  last_seen_at: number;
  /** `superseded`: a later boot or machine took its place. `contending`: until an operator has accepted a host. */
  role: 'accepted' | 'superseded' | 'contending' | 'refused';
  /** An operator has accepted it. */
  named?: true;
}

/** The hosts that have used tokens of one generation. */
export interface HostHistory {
  generation: number;
  copies: HostCopy[];
}

/** Backends: the service's records of hosts. */
interface BackendTable {
  id: string;
  /** Number of changes, so that two instances never change the same revision. */
  revision: number;
  env: string;
  site: string;
  laptop: number;
  transport: 'sdk' | 'proxy' | 'system';
  created_at: number;
  state: BackendState;
  generation: number;
  /** How often its install kit was revealed. A restore raises only the generation. */
  kits: Generated<number>;
  /**
   * Tokens of this generation and newer are accepted: a restored store does not know all generations that were
   * assigned.
   */
  oldest_generation: number;
  purge_volumes: number;
  finished: Json<FinishingStep[]>;
  /** 1 if its host has taken its services down; 0 for a new backend, 1 for those retired by an older version. */
  down_reported: Generated<number>;
  /** When an operator locked it; null if it is not locked. */
  locked_at: Generated<number | null>;
  /** The hosts that have used its token; null before the first check-in with a machine or a boot. */
  hosts: Generated<Json<HostHistory> | null>;
  /** Since when two hosts use its token and nobody has accepted one of them; null if there is no such conflict. */
  cloned_at: Generated<number | null>;
  /** When it entered its state. */
  state_since: number;
  last_seen_at: number | null;
  /** The newest check-in; null before the first. */
  check_in: Json<CheckInRequest> | null;
  /** From the newest check-in; null before the first. */
  healthy: number | null;
  /** From the newest check-in, in printable ASCII; empty before the first. */
  agent_version: Generated<string>;
  /** The same for the name of its host, in at most 64 characters; before that the name it was added by. */
  host_name: Generated<string>;
  /** The name it was added by with a one-time code; null without one. */
  added_as: Generated<string | null>;
  /** The reason why its host defers work, from the newest check-in. */
  deferred_by: Generated<Deferral | null>;
  /** 1 if the settings of its host differ from the recorded ones, by the newest check-in; null before the first. */
  differing: Generated<number | null>;
  /** Digest of the bundle that its host runs, from the newest check-in. */
  applied_sha: string | null;
  /** When its check-ins began to report that bundle; null if that is not known. */
  applied_since: Generated<number | null>;
  /** Accessor and generation of the newest token that it used; the token is revoked by its retirement. */
  token_accessor: string | null;
  token_generation: number | null;
  /** The mesh identity that its newest install kit enrols; null without one. */
  mesh_identity: string | null;
  labels: Generated<Json<Labels>>;
  /** Text for searching and sorting: its site, then the values of its labels, in lower case, one per line. */
  search: Generated<string>;
  /** The last rollout that it has joined, the number of the wave, from 0, and its progress with the bundle. */
  rollout_id: Generated<string | null>;
  rollout_wave: Generated<number | null>;
  rollout_outcome: Generated<HostOutcome | null>;
  /**
   * The swarm that its host manages, from the newest check-in. All managers in its environment share one desired
   * bundle.
   */
  swarm_id: Generated<string | null>;
  /**
   * 1 if another manager represents the swarm: the one that last reported to be the leader, otherwise the first one.
   */
  follower: Generated<number>;
  /**
   * Outcome and desired bundle of the problem in its newest report, which operators were notified of; null for none.
   */
  trouble: string | null;
  /** Since when it has been in trouble or unhealthy without interruption; null if it is not. */
  trouble_since: Generated<number | null>;
  /** The words of its newest report of a problem, shortened. */
  trouble_reason: Generated<Json<TroubleReason> | null>;
}

/** The words of a report of a problem, shortened: its detail, and the last lines of its output. */
export interface TroubleReason {
  outcome: Report['outcome'];
  code: string | null;
  detail: string | null;
  output: string | null;
}

/** Columns by which a list of backends can be sorted, before the id. */
export type SortColumn = 'id' | 'host_name' | 'site' | 'state' | 'last_seen_at' | 'agent_version';

/** Sort order of a list of backends. */
export interface BackendOrder {
  column: SortColumn;
  isDescending: boolean;
}

/** The position of a backend in a sorted list: its sort value and its id. */
export interface BackendPlace {
  key: string | number;
  id: string;
}

/**
 * Progress of a host with the bundle of a rollout: it has not applied the bundle yet, runs it and is healthy, refused it
 * or failed. An excused host had failed when an operator resumed the rollout.
 */
export type HostOutcome = 'waiting' | 'succeeded' | 'failed' | 'excused';

/** The hosts that a wave takes from those that earlier waves have not taken; without a number, all of them. */
export interface Wave {
  count?: number;
  /** Percentage of the hosts with its labels, including those that earlier waves took, rounded up. */
  percent?: number;
  /** Hosts without one of these labels are excluded. */
  labels?: Labels;
}

/** The plan of a rollout. */
export interface RolloutPlan {
  waves: Wave[];
  /** The rollout is halted when more hosts than this have failed. */
  max_failures: number;
  /** Seconds from the success of a wave to the next step. */
  soak_s: number;
  /** Seconds in which a wave must be verified; then the rollout is halted. Missing for the default. */
  deadline_s?: number | undefined;
  /** Missing for a rollout of an earlier version, whose later waves have no hosts yet. */
  drawn?: true;
  /** Requirement for continuing after the soak of a wave: none, an operator, or the answer of a webhook. */
  gate: 'none' | 'manual' | 'webhook';
  /** Id of the gate's webhook; missing for other gates. */
  gate_webhook?: string | undefined;
  /** If empty, waves start at any time. */
  windows: TimeWindow[];
}

/** Numbers of hosts of a wave; hosts that are being retired are not counted any more. */
export interface WaveProgress {
  hosts: number;
  waiting: number;
  succeeded: number;
  failed: number;
  excused: number;
  /** Servers that fell silent after their wave started; they count against the limit. */
  offline: number;
  /** Servers that have been silent since before their wave; they do not count, and are skipped at its deadline. */
  absent: number;
  /** Silent laptops, for which that is normal. */
  asleep: number;
  /** The succeeded hosts that were seen since the wave started or was resumed; in a soak, since the end of the soak. */
  verified: number;
}

/** The progress of a rollout. */
export interface RolloutProgress {
  /** All waves; a wave that has not started has only a number of hosts. */
  waves: WaveProgress[];
  /** Hosts whose wave has not started yet, including offline ones. */
  remaining: number;
  /** Hosts that were added since the start, and have no wave yet. */
  newcomers: number;
  /** The first failed hosts, by id; missing if there is none. */
  failed_hosts?: HostName[];
  /** The first hosts that the current wave waits for, by id; missing if there is none. */
  awaited_hosts?: HostName[];
}

/** A host by its id and its names. */
export interface HostName {
  id: string;
  site: string;
  /** Empty before its first check-in; missing in the progress that an earlier version has stored. */
  host_name?: string;
}

/** A candidate for a wave: a host, or the managers of a swarm, which are taken together. */
export interface Candidate {
  ids: string[];
  /** Labels of each of them. */
  labels: Labels[];
  /** The rollout has assigned it to a wave. */
  hasJoined: boolean;
  /** The different bundles that they run. */
  applied: (string | null)[];
}

/** Backends of an environment that are equivalent for a rollout. */
export interface HostGroup {
  /** The wave of the rollout that has taken them, from 0; null for none. */
  wave: number | null;
  outcome: HostOutcome | null;
  state: BackendState;
  /** 1 after a silence for which a server counts as offline. */
  silent: number;
  laptop: number;
  /** 0 if its last check-in reported unhealthy containers. */
  healthy: number;
  /** 1 if it was seen since the current wave started. */
  reached: number;
  /** 1 if it was seen since the time that its wave requires. */
  fresh: number;
  hosts: number;
}

/** A host of a rollout, with the facts that decide its status. */
export interface RolloutMember extends HostName, Omit<HostGroup, 'hosts'> {
  last_seen_at: number | null;
  deferred_by: Deferral | null;
}

interface RolloutTable {
  id: string;
  env: string;
  /** Digest of its bundle. */
  sha256: string;
  /** Digest of the previously desired bundle; null for none. */
  previous_sha: string | null;
  state: RolloutState;
  state_since: number;
  /** Number of waves that have started. */
  started: number;
  /** When the last of them started; null before the first one. */
  wave_started_at: Generated<number | null>;
  halted_by: HaltReason | null;
  /** The `state_since` of the wait that operators were notified of; null before the first one. */
  waiting_told: Generated<number | null>;
  plan: Json<RolloutPlan>;
  /** As of the last count. */
  progress: Json<RolloutProgress>;
  /** When the webhook of the gate is called next; null unless the rollout waits for its answer. */
  gate_due_at: number | null;
  /** Number of calls at this gate. */
  gate_tries: number;
  /** Its last answer, or the reason why it could not be called. */
  gate_reason: string | null;
  created_at: number;
  /** Name of the operator who started it. */
  created_by: string;
}

export type RolloutRow = Selectable<RolloutTable>;

/** The key that encrypts the secrets of an environment in the embedded secretstore. */
interface SecretstoreKeyTable {
  id: string;
  env: string;
  /** Encrypted with the key file. */
  wrapped: string;
}

/** A version of a secret in the embedded secretstore. */
interface SecretstoreVersionTable {
  env: string;
  /** Its name below the environment. */
  key: string;
  version: number;
  /** The key of the environment that encrypted it. */
  key_id: string;
  /** Its fields in JSON, encrypted; null for a destroyed version. */
  sealed: string | null;
  created_at: number;
  deleted_at: number | null;
  destroyed: number;
}

/** A token of the embedded secretstore that is neither expired nor revoked. */
interface SecretstoreTokenTable {
  /** SHA-256 of the token, which is random. */
  hash: string;
  accessor: string;
  role: string;
  /** The `sub` of the JWT. */
  subject: string;
  meta: Json<Record<string, string>>;
  policies: Json<string[]>;
  issued_at: number;
  creation_ttl_s: number;
  explicit_max_ttl_s: number;
  expires_at: number;
  renewed_at: number | null;
}
