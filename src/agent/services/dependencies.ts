import type { Compose } from '../adapters/compose/compose.ts';
import type { Containers } from '../adapters/engine/containers.ts';
import type { Credentials } from '../adapters/state/credentials.ts';
import type { Download } from '../adapters/http/download.ts';
import type { Releases } from '../adapters/release/releases.ts';
import type { Registries } from '../adapters/http/registries.ts';
import type { Secretstore } from '../adapters/http/secretstore.ts';
import type { StateStore } from '../adapters/state/stateFile.ts';
import type { Tenancy } from '../adapters/http/tenancy.ts';
import type { OtherEnv, Settings } from '../config/settings.ts';
import type { Journal } from '../journal/journal.ts';
import type { TraceRecorder } from '../journal/traceRecorder.ts';
import type { Decision } from '../rules/trace/trace.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Orchestrator } from './orchestrator.ts';
import type { TickScope } from './tickScope.ts';

/** Dependencies of every service; built once by src/agent/createAgent.ts. */
export interface Dependencies {
  readonly settings: Settings;
  readonly version: string;
  /** Name of the compose project: `deployd-<env>`. */
  readonly project: string;
  readonly vault: Vault;
  readonly state: StateStore;
  readonly credentials: Credentials;
  readonly releases: Releases;
  readonly tenancy: Tenancy;
  readonly download: Download;
  readonly secretstore: Secretstore;
  readonly registries: Registries;
  readonly containers: Containers;
  readonly compose: Compose;
  readonly orchestrator: Orchestrator;
  /** The other envs of this host, as their configurations are now. */
  readonly otherEnvs: () => readonly OtherEnv[];
  /** True for ticks of the loop or the timer, which no operator waits for. */
  readonly unattended: boolean;
  /** Aborts once, at SIGTERM; `clearSecrets` and `releaseLock` ignore it. */
  readonly stop: AbortController;
  /** The journal of the process, without a tick id. */
  readonly journal: Journal;
  /** Collects the trace of the tick. */
  readonly recorder: TraceRecorder;
  /** Records a decision in the trace and, at debug level, in the journal. */
  readonly recordDecision: (decision: Decision) => void;
  /** Scope of the running tick; `acquireLock` replaces it. */
  tick: TickScope;
}

/** What an observation works with: it changes nothing, so that a command can make it too. */
export type ObserverDependencies = Pick<
  Dependencies,
  'settings' | 'project' | 'state' | 'releases' | 'containers' | 'tick'
>;
