import type { BackendState } from '../../../machines/backend.ts';
import type { HaltReason, RolloutState } from '../../../machines/rollout.ts';
import type { ToldHold, ToldSwarm } from '../../protocol/checkIn.ts';
import type { Report } from '../../protocol/report.ts';
import type { TimeWindow } from '../../protocol/timeWindow.ts';
import type { EventType, WebhookEvent, WebhookFormat } from '../../protocol/webhooks.ts';

/** The objects of the operators' API, as docs/openapi.yaml defines them; a test holds them to it. Times are RFC 3339. */
export interface WhoAmI {
  name: string;
  role: Role;
  /** Null for all. */
  envs: string[] | null;
  /** Any one of them permits a call; a service of an older version tells none. */
  permissions?: { role: Role; envs: string[] | null }[];
}

export type Role = 'viewer' | 'deployer' | 'admin';

export interface Env {
  name: string;
  production: boolean;
  desired_sha: string | null;
  last_sequence: number;
  /** Number of backends in each state; states without one may be missing. */
  backends: Partial<Record<BackendState, number>>;
}

/** One env; a service of an older version tells nothing of signatures. */
export interface EnvDetails extends Env {
  /** Whose signatures its hosts demand of a bundle; null for none. */
  trust?: Trust | null;
  desired?: Bundle | null;
  newest?: Bundle | null;
}

export interface Trust {
  /** How many different signers a bundle needs. */
  threshold: number;
  /** Public keys, in PEM. */
  keys: string[];
  identities: { issuer: string; subject: string }[];
  /** A Sigstore trust root. */
  root: object | null;
}

export interface Backend {
  id: string;
  env: string;
  site: string;
  laptop: boolean;
  transport: 'sdk' | 'proxy' | 'system';
  /** A service of an older version tells none. */
  labels?: Record<string, string>;
  state: BackendState;
  state_since: string;
  created_at: string;
  last_seen_at: string | null;
  generation: number;
  applied_sha: string | null;
  desired_sha: string | null;
  agent_version: string | null;
  healthy: boolean | null;
  /** Outcome of its newest report, if that told of trouble; a service of an older version tells none. */
  trouble?: string | null;
  /** What defers the work of its host; a service of an older version tells that of one backend alone. */
  deferred_by?: 'hold' | 'window' | null;
  /** Nothing is changed on its host until then at most; absent without a hold. */
  hold?: ToldHold;
  /** When the next window of its host opens, while all are closed. */
  window_opens_at?: string;
  /** The swarm that its host manages, and whether it leads there; a service of an older version tells none. */
  swarm?: ToldSwarm | null;
  purge_volumes: boolean;
  /** Steps of its retirement that are done. */
  finished: string[];
}

export interface BackendDetails extends Backend {
  pending_steps: PendingStep[];
  last_report: ReceivedReport | null;
  /** As its newest check-in told; a service of an older version tells neither. */
  host?: { name: string; arch: string; os: string } | null;
  containers?: ReceivedReport['containers'];
  /** The other managers of its swarm. */
  managers?: { id: string; site: string; state: BackendState; leader: boolean }[];
}

/** Answer to a retirement; `others` are the managers that are retired with a backend. */
export interface Retiring extends Pick<Backend, 'id' | 'state'> {
  others?: Pick<Backend, 'id' | 'state'>[];
}

/** A step of a retirement that is not done; `error` is why the last try has failed. */
export interface PendingStep {
  step: string;
  tries: number;
  error: string | null;
}

export type ReceivedReport = Report & { received_at: string };

/** Contract of docs/openapi.yaml; `command` holds no secret. */
export interface InstallKit {
  id: string;
  env: string;
  site: string;
  version: string;
  base_url: string | null;
  download_token: string | null;
  bootstrap_jwt: string;
  expires_at: string;
  transport: Backend['transport'];
  tenancy_url: string;
  secretstore_url: string;
  secretstore_ca: string | null;
  mesh_enrolment_jwt: string | null;
  command: string;
}

export interface Bundle {
  sha256: string;
  env: string;
  name: string;
  version: string;
  sequence: number;
  size_bytes: number;
  production: boolean;
  allow_privileged: boolean;
  allow_rollback: boolean;
  /** A service of an older version does not tell it. */
  emergency?: boolean;
  received_at: string;
  received_from: string;
  /** A service of an older version tells nothing of signatures. */
  signature?: 'not required' | 'awaiting signature' | 'signed';
  /** Who has signed it, of those whom its hosts believe. */
  signers?: string[];
}

export interface ReceivedSignature {
  /** Of its JSON text. */
  sha256: string;
  /** Null for nobody whom the hosts of the env believe. */
  signer: string | null;
  received_at: string;
  received_from: string;
  /** A Sigstore bundle. */
  signature: object;
}

/** One bundle; a service of an older version tells neither variables nor profiles. */
export interface BundleDetails extends Bundle {
  variables?: Record<string, string>;
  profiles?: string[];
}

/** With what some hosts would not permit of it. */
export interface PushedBundle extends Bundle {
  warnings: string[];
}

/** Which hosts a wave takes; null for all that have the labels. */
export interface WaveSize {
  count: number | null;
  percent: number | null;
  labels: Record<string, string>;
}

/** A wave of a rollout, with the numbers of its hosts once it has started. */
export interface RolloutWave extends WaveSize {
  hosts: number;
  waiting: number;
  succeeded: number;
  failed: number;
  excused: number;
  offline: number;
  asleep: number;
}

export interface Rollout {
  id: string;
  env: string;
  sha256: string;
  /** What was desired before. */
  previous_sha: string | null;
  state: RolloutState;
  state_since: string;
  halted_by: HaltReason | null;
  /** Null unless it waits for that. */
  next_start_at: string | null;
  /** Number of waves that have started. */
  started: number;
  waves: RolloutWave[];
  /** Hosts that no wave has taken. */
  remaining: number;
  /** The first hosts that count as failed, by id. */
  failed_hosts: { id: string; site: string }[];
  max_failures: number;
  soak_s: number;
  gate: 'none' | 'manual' | 'webhook';
  /** The webhook that is asked at its gates. */
  gate_webhook: string | null;
  /** What that has answered last, or why it could not be asked. */
  gate_reason: string | null;
  /** When waves may start. */
  windows: TimeWindow[];
  created_at: string;
  created_by: string;
}

export interface SecretName {
  key: string;
  /** The newest version. */
  version: number;
  /** Who has written it when; null where the audit log does not tell, and absent from a service of an older version. */
  written_at?: string | null;
  written_by?: string | null;
}

/** Answer to a new version of a secret; `bundle` is the one that was made to read it, null where none does. */
export interface WrittenSecret {
  path: string;
  version: number;
  bundle: Bundle | null;
  /** What some hosts would not permit of that bundle. */
  warnings: string[];
}

export interface Operator {
  id: string;
  name: string;
  role: Role;
  envs: string[] | null;
  created_at: string;
  last_used_at: string | null;
  /** Null for never; a service of an older version tells neither this nor the next. */
  expires_at?: string | null;
  /** Kept for emergencies. */
  break_glass?: boolean;
}

export interface NewOperator extends WhoAmI {
  id: string;
  token: string;
  expires_at?: string | null;
  break_glass?: boolean;
}

/** Of a person who has signed in, in one browser. */
export interface PersonSession {
  id: string;
  name: string;
  subject: string;
  role: Role | null;
  envs: string[] | null;
  address: string;
  created_at: string;
  last_used_at: string;
  expires_at: string;
  current: boolean;
}

export interface AuditEntry {
  id: number;
  at: string;
  actor: string;
  act: string;
  target: string;
  env: string | null;
  address: string | null;
  request_id: string | null;
  result: string;
}

export interface Webhook {
  id: string;
  name: string;
  /** Null for all. */
  env: string | null;
  events: EventType[];
  format: WebhookFormat;
  /** Of its URL, which is not told. */
  origin: string;
  created_at: string;
  created_by: string;
  failures: number;
  /** Why the newest try has failed; null if it has not. */
  error: string | null;
  pending: number;
  dead: number;
}

export interface NewWebhook extends Webhook {
  secret: string;
}

export interface RotatedSecret {
  secret: string;
  previous_until: string;
}

export interface WebhookTest {
  delivered: boolean;
  status: number | null;
  error: string | null;
}

/** An event that could not be delivered. */
export interface DeadLetter {
  id: string;
  event: WebhookEvent;
  dead_at: string;
  tries: number;
  error: string | null;
}
