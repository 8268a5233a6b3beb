import { Fault } from '../../../../machines/fault.ts';
import type { ReportedContainer, ServiceProblem } from '../../../../machines/types.ts';
import type { Fact } from '../../../core/doctor.rules.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { Releases } from '../../adapters/release/releases.ts';
import type { StateStore } from '../../adapters/state/stateFile.ts';
import type { Settings } from '../../config/settings.ts';
import type { Journal } from '../../journal/journal.ts';
import type { State } from '../../rules/state/state.ts';
import { type ServiceTrouble, troublesOf } from '../../rules/status/serviceTrouble.ts';
import type { Vault } from '../../secrets/vault.ts';
import { observe } from '../compose/observe.ts';
import type { ObserverDependencies } from '../dependencies.ts';
import type { Observation } from '../orchestrator.ts';
import { startTick } from '../tickScope.ts';
import { readApplied } from './observeHost.ts';

/** What runs on this host now, judged as a tick judges it. */
export interface SeenHost {
  containers: readonly ReportedContainer[];
  /** Services of the applied release that are missing or not healthy, sorted by name. */
  troubles: readonly ServiceTrouble[];
  /** The same with their cures. */
  problems: readonly ServiceProblem[];
}

/** Whose containers are looked at, and for how long. */
export interface LookInput {
  settings: Settings;
  state: State;
  vault: Vault;
  /** Milliseconds until the look is given up. */
  timeoutMs: number;
}

/** Looks at the containers of this host for a command, as a tick does at its beginning, and changes nothing. */
export async function lookAtHost({ settings, state, vault, timeoutMs }: LookInput): Promise<Fact<SeenHost>> {
  const signal = AbortSignal.timeout(timeoutMs);
  const deps = observerDependencies(settings, state, signal);
  try {
    const { containers, problems } = await observers[settings.orchestrator](deps, { vault, signal });
    return { known: { containers, troubles: troublesOf(problems), problems } };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: signal.aborted ? silentEngine(settings, timeoutMs) : reasonOf(error) };
  }
}

/** What the observation of an orchestrator needs beside the dependencies. */
interface ObserverMeans {
  vault: Vault;
  signal: AbortSignal;
}

const observers: Record<
  Settings['orchestrator'],
  (deps: ObserverDependencies, means: ObserverMeans) => Promise<Observation>
> = {
  compose: async (deps) => observe(deps, await readApplied(deps)),
  swarm: async (deps, means) => (await import('../swarm/lookAtStack.ts')).lookAtStack(deps, means),
};

function observerDependencies(settings: Settings, state: State, signal: AbortSignal): ObserverDependencies {
  const project = `deployd-${settings.env}`;
  return {
    ...{ settings, project },
    state: readOnly(state),
    releases: new Releases(settings.state_dir, `${settings.state_dir}/${settings.env}`),
    containers: createContainers({ containerHost: settings.container_host, project, signal }),
    tick: startTick(silentJournal),
  };
}

/** A state that stays as it was read. */
function readOnly(state: State): StateStore {
  return { state, isUnknown: false, load: async () => state, update: async () => undefined };
}

/** What a tick logs about an observation, a command shows in its own way. */
const silentJournal: Journal = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  block: () => undefined,
  forTick: () => silentJournal,
  flush: async () => undefined,
};

function silentEngine({ container_host: host }: Settings, timeoutMs: number): string {
  return `container engine at ${host} does not answer within ${timeoutMs / 1000} s; check it with docker ps`;
}

function reasonOf({ message }: Fault): string {
  return message.replace(/^(failed: )?RUNTIME_UNAVAILABLE: /, '');
}
