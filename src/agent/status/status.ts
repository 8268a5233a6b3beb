import { Fault } from '../../../machines/fault.ts';
import type { ReportedContainer, ServiceProblem } from '../../../machines/types.ts';
import { bootTimeNow } from '../../core/clock.ts';
import type { Fact } from '../../core/doctor.rules.ts';
import { fingerprintsOf } from '../../signatures/judgement.rules.ts';
import { readTrustNow, trustViolations } from '../../signatures/signatureFiles.ts';
import { readDeferringFacts } from '../checkIn/hold.ts';
import { observe } from '../compose/observe.ts';
import type { Settings } from '../config/configKeys.ts';
import { createContainers } from '../engine/containers.ts';
import { readApplied, type ObserverDependencies } from '../health/observeHost.ts';
import { type Journal, openTickJournal } from '../journal/journal.ts';
import type { Output } from '../journal/terminal.ts';
import type { Observation } from '../release/orchestrator.ts';
import { Releases } from '../release/releases.ts';
import type { Vault } from '../secrets/vault.ts';
import { readLock } from '../state/lock.ts';
import { emptyState, isInvalidState, type State } from '../state/state.rules.ts';
import { readState, type StateStore } from '../state/stateFile.ts';
import { openCredentials } from '../token/credentials.ts';
import { formatStatus, type SeenServices, type ServiceTrouble, statusOf, troublesOf } from './status.rules.ts';

/** Options of `deployd status`. */
export interface StatusOptions {
  json: boolean;
  version: string;
  vault: Vault;
  /** Milliseconds that the observation of the containers may take. */
  lookMs: number;
}

/**
 * `deployd status`: exits with 0 when the token is present and the host in sync, otherwise with 1. It observes the
 * containers; it uses no network or lock and writes nothing.
 */
export async function status(settings: Settings, options: StatusOptions, out: Output): Promise<number> {
  const credentials = openCredentials(settings);
  const { state, stateError } = await usableState(settings);
  const now = new Date();
  const seen = await look(settings, { state, stateError }, options);
  const containers = 'known' in seen ? seen.known.containers : [];
  const services = containers.map(({ service }) => service);
  const result = statusOf(settings, state, {
    deferring: await readDeferringFacts(settings).catch((error: unknown) => warn(out, error, {})),
    version: options.version,
    token: await credentials.hasToken().catch((error: unknown) => warn(out, error, false)),
    lock: await readLock(settings.state_dir).catch((error: unknown) => warn(out, error, null)),
    violations: [
      ...trustViolations(settings.trust, { ...state, services }),
      ...(state.applied_sha === null ? [] : (state.judged?.violations ?? [])),
    ],
    ...{ seen, now, bootTime: bootTimeNow() },
  });
  const context = { state, stateError, now, fingerprints: fingerprintsOf(readTrustNow(settings.trust)) };
  if (options.json && stateError !== null) out.error(stateError);
  for (const line of await credentials.warnings()) out.error(line);
  out.log(options.json ? JSON.stringify(result, null, 2) : formatStatus(result, context));
  return result.in_sync ? 0 : 1;
}

/** The current health, which cannot be determined without the state. */
async function look(
  settings: Settings,
  { state, stateError }: UsableState,
  { vault, lookMs }: StatusOptions,
): Promise<Fact<SeenServices>> {
  return stateError === null ? lookAtHost({ settings, state, vault, timeoutMs: lookMs }) : { unknown: stateError };
}

interface UsableState {
  state: State;
  stateError: string | null;
}

/** The state, or an empty one, which is never in sync, with the reason why it cannot be used. */
async function usableState({ state_dir, env }: Settings): Promise<UsableState> {
  const emptyBecause = (stateError: string | null) => ({ state: emptyState(env), stateError });
  const found = await readState(state_dir).catch(messageOf);
  if (typeof found === 'string') return emptyBecause(found);
  if (found === null) return emptyBecause(null);
  if (isInvalidState(found)) return emptyBecause(`STATE_CORRUPT: ${found.fault}; the next tick rebuilds it`);
  return found.env === env ? { state: found, stateError: null } : emptyBecause(null);
}

function warn<T>(out: Output, error: unknown, fallback: T): T {
  out.error(messageOf(error));
  return fallback;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'a file cannot be read';
}

/** The current health of this host, by the rules of a tick. */
export interface SeenHost {
  containers: readonly ReportedContainer[];
  /** Services of the applied release that are missing or not healthy, sorted by name. */
  troubles: readonly ServiceTrouble[];
  /** The same with their cures. */
  problems: readonly ServiceProblem[];
}

/** The containers to observe, and the time limit. */
export interface LookInput {
  settings: Settings;
  state: State;
  vault: Vault;
  /** Time limit of the observation in milliseconds. */
  timeoutMs: number;
}

/** Observes the containers of this host for a command, as a tick does at its start, and changes nothing. */
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

/** Dependencies of an orchestrator's observation, in addition to the common ones. */
interface ObserverMeans {
  vault: Vault;
  signal: AbortSignal;
}

const observers: Record<
  Settings['orchestrator'],
  (deps: ObserverDependencies, means: ObserverMeans) => Promise<Observation>
> = {
  compose: async (deps) => observe(deps, await readApplied(deps)),
  swarm: async (deps, means) => (await import('../swarm/waitUntilHealthy.ts')).lookAtStack(deps, means),
};

function observerDependencies(settings: Settings, state: State, signal: AbortSignal): ObserverDependencies {
  const project = `deployd-${settings.env}`;
  return {
    ...{ settings, project },
    state: readOnly(state),
    releases: new Releases(settings.state_dir, `${settings.state_dir}/${settings.env}`),
    containers: createContainers({ containerHost: settings.container_host, project, signal }),
    tick: { id: '', clock: { startedAt: new Date(), durationsMs: {} }, journal: openTickJournal(silentJournal, '') },
  };
}

/** A state that stays as it was read. */
function readOnly(state: State): StateStore {
  return { state, isUnknown: false, load: async () => state, update: async () => undefined };
}

/** A tick logs these lines; a command shows the observation in its own way. */
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
