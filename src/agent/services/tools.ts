import { randomUUID } from 'node:crypto';
import type { Fault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/words.ts';
import type { Compose } from '../adapters/compose/compose.ts';
import type { Containers } from '../adapters/engine/containers.ts';
import type { Credentials } from '../adapters/files/credentials.ts';
import type { Download } from '../adapters/http/download.ts';
import type { Lock } from '../adapters/files/lock.ts';
import type { Releases } from '../adapters/files/releases.ts';
import type { Secretstore } from '../adapters/http/secretstore.ts';
import type { StateFile } from '../adapters/files/state.ts';
import type { Tenancy } from '../adapters/http/tenancy.ts';
import type { Settings } from '../config/settings.ts';
import { clockMs, wallAheadMs } from '../journal/clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { Recorder } from '../journal/recorder.ts';
import type { Granted } from '../rules/created/granted.ts';
import type { Inspected } from '../rules/health/health.ts';
import type { Made } from '../rules/release/jobs.ts';
import type { Contents } from '../rules/bundle/inventory.ts';
import type { Progress } from '../rules/status/progress.ts';
import type { Report } from '../../protocol/report.ts';
import type { BroughtUp } from '../rules/health/containerUptime.ts';
import type { TokenStanding } from '../rules/token/tokenLife.ts';
import type { Decision } from '../rules/trace/trace.ts';
import type { Vault } from '../secrets/vault.ts';

/** What every service works with; built once by src/agent/createAgent.ts. */
export interface Tools {
  readonly settings: Settings;
  readonly version: string;
  /** Compose project of this host: `deployd-<env>`. */
  readonly project: string;
  readonly vault: Vault;
  readonly state: StateFile;
  readonly credentials: Credentials;
  readonly releases: Releases;
  readonly tenancy: Tenancy;
  readonly download: Download;
  readonly secretstore: Secretstore;
  readonly containers: Containers;
  readonly compose: Compose;
  /** Nobody waits for the ticks of this process: the loop's, or the timer's. */
  readonly unattended: boolean;
  /** Fires once, at SIGTERM; `scrub` and `freeLock` ignore it. */
  readonly stop: AbortController;
  /** The journal of the process, without a tick id. */
  readonly journal: Journal;
  /** What the tick leaves in its trace. */
  readonly recorder: Recorder;
  /** Writes down why the tick does what it does: into its trace, and for those who look closely into the journal. */
  readonly note: (decision: Decision) => void;
  /** Notes of the tick that runs; replaced when the next one begins. */
  tick: Tick;
}

/** What one tick notes down about itself. */
export interface Tick {
  readonly id: string;
  readonly startedAt: Date;
  readonly journal: Journal;
  /** Milliseconds by service name. */
  readonly durations: Record<string, number>;
  lock: Lock | null;
  /** True once the engine has answered: from then on its silence is an interruption. */
  engineAnswered: boolean;
  /** The containers as they were found well, until somebody touches them; without what probes wrote, which may be secret. */
  well: Inspected[] | null;
  /** Why the grant that lies there was not taken; the stored token is used instead. */
  grantRefusal: Fault | null;
  /** The standing of the token that the grant brought. */
  candidate: TokenStanding | null;
  /** What the judged model of the bundle gives its services. */
  granted: Granted | null;
  /** What the services of the release that is to be consist of. */
  made: { sha: Sha; services: ReadonlyMap<string, Made> } | null;
  /** When compose was last told to bring a release up; when the tick began, before that. */
  broughtUp: BroughtUp;
  /** The heartbeat of this tick; unlike other reports it is never kept for later. */
  heartbeat: Report | null;
  /** True once a host that was away has checked in again. */
  isBack: boolean;
  /** What its report and status tell besides the outcome. */
  readonly remarks: string[];
  /** What the bundle that is being applied consists of, once it is unpacked. */
  unpacked: Contents | null;
  /** How far the running service is, for whoever wants to know; null where it does not say. */
  howFar: (() => Progress | Promise<Progress>) | null;
}

/** That compose is about to bring a release up, where these containers are. */
export function broughtUpNow(before: readonly { id: string; startedMs: number }[]): BroughtUp {
  return {
    atMs: clockMs(),
    aheadMs: wallAheadMs(),
    starts: new Map(before.map(({ id, startedMs }) => [id, startedMs])),
  };
}

/** A fresh page for a tick that begins. */
export function beginTick(journal: Journal): Tick {
  const id = randomUUID();
  return {
    id,
    startedAt: new Date(),
    journal: journal.forTick(id),
    durations: {},
    lock: null,
    engineAnswered: false,
    well: null,
    grantRefusal: null,
    candidate: null,
    granted: null,
    made: null,
    broughtUp: broughtUpNow([]),
    heartbeat: null,
    isBack: false,
    remarks: [],
    unpacked: null,
    howFar: null,
  };
}
