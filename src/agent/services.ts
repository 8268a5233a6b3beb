import { fromPromise } from 'xstate';
import { Fault, stoppedFault } from '../../machines/fault.ts';
import type { ApplyServices, DownServices, TickServices } from '../../machines/services.ts';
import type { Sha } from '../../machines/types.ts';
import { monotonicMs } from '../core/clock.ts';
import { revertInterrupted } from './apply/revert.ts';
import { checkIn, whileCheckingIn } from './checkIn/checkIn.ts';
import { deliverReports } from './checkIn/reports.ts';
import { heal, healDespite, type HealDependencies } from './health/heal.ts';
import { observeHost, type HealthDependencies } from './health/observeHost.ts';
import { redactFault } from './journal/faults.ts';
import { clearApplied, composeDown, type DownDependencies } from './release/down.ts';
import { prune } from './release/garbage.ts';
import { acquireLock, loadState, recordOutcome, releaseLock, type TickDependencies, type TickScope } from './tick.ts';
import { bootstrap, renewToken } from './token/token.ts';
import type { UnpackDependencies } from './apply/unpack.ts';
import type { SecretsDependencies } from './apply/readSecrets.ts';
import type { ValidateDependencies } from './apply/validate.ts';
import type { ImageDependencies } from './apply/verifyImages.ts';
import type { RenderDependencies } from './apply/renderRelease.ts';
import type { CommitDependencies } from './apply/commit.ts';
import type { Settings } from './config/settings.ts';
import type { Releases } from './release/releases.ts';
import type { StateStore } from './state/stateFile.ts';
import type { Containers } from './engine/containers.ts';
import type { Orchestrator } from './release/orchestrator.ts';

/** What the services of all states take together. */
export interface AgentDependencies
  extends
    TickDependencies,
    HealthDependencies,
    HealDependencies,
    DownDependencies,
    UnpackDependencies,
    SecretsDependencies,
    ValidateDependencies,
    ImageDependencies,
    RenderDependencies,
    CommitDependencies {
  readonly settings: Settings;
  readonly releases: Releases;
  readonly state: StateStore;
  readonly containers: Containers;
  readonly orchestrator: Orchestrator;
  tick: TickScope;
}

type Service<TInput, TOutput> = (deps: AgentDependencies, input: TInput, signal: AbortSignal) => Promise<TOutput>;

type PickApplyService<TInput, TOutput> = (services: typeof import('./apply/index.ts')) => Service<TInput, TOutput>;

/**
 * Implements every service of the machines; a missing or wrongly typed one does not compile. The signal of a service aborts
 * when the machine leaves its state, and at STOP.
 */
export function createServices(deps: AgentDependencies): {
  tick: TickServices;
  apply: ApplyServices;
  down: DownServices;
} {
  const provide = createProvider(deps);
  return {
    tick: {
      acquireLock: provide('acquireLock', acquireLock),
      loadState: provide('loadState', loadState),
      bootstrap: provide('bootstrap', bootstrap),
      observeHost: provide('observeHost', observeHost),
      checkIn: provide('checkIn', checkIn),
      deliverReports: provide('deliverReports', deliverReports),
      heal: provide('heal', heal),
      healDespite: provide('healDespite', healDespite),
      revertInterrupted: provide('revertInterrupted', revertInterrupted),
      recordOutcome: provide('recordOutcome', recordOutcome),
      prune: provide('prune', prune),
      renewToken: provide('renewToken', renewToken),
      releaseLock: provide('releaseLock', releaseLock),
    },
    apply: createApplyServices(provide),
    down: {
      composeDown: provide('composeDown', (deps, input, signal) =>
        whileCheckingIn(deps, { work: 'down', wanted: null }, signal, (waiting) => composeDown(deps, input, waiting)),
      ),
      clearApplied: provide('clearApplied', clearApplied),
    },
  };
}

function createApplyServices(provide: Provide): ApplyServices {
  const provideLazy = <TInput, TOutput>(name: string, pick: PickApplyService<TInput, TOutput>) =>
    provide(name, lazyService(pick));
  return {
    download: provide('download', (deps, input, signal) =>
      whileApplying(deps, input.desired.desiredSha, signal, async (waiting) =>
        (await import('./apply/index.ts')).download(deps, input, waiting),
      ),
    ),
    verifySignatures: provideLazy('verifySignatures', (services) => services.verifySignatures),
    unpack: provideLazy('unpack', (services) => services.unpack),
    validateBundle: provideLazy('validateBundle', (services) => services.validateBundle),
    readSecrets: provideLazy('readSecrets', (services) => services.readSecrets),
    validateRenderedModel: provideLazy('validateRenderedModel', (services) => services.validateRenderedModel),
    verifyImages: provideLazy('verifyImages', (services) => services.verifyImages),
    renderRelease: provideLazy('renderRelease', (services) => services.renderRelease),
    promote: provideLazy('promote', (services) => services.promote),
    pull: provide('pull', (deps, { bundle }, signal) =>
      whileApplying(deps, bundle.sha, signal, (waiting) => deps.orchestrator.pull(bundle, waiting)),
    ),
    startContainers: provide('startContainers', (deps, started, signal) =>
      whileApplying(deps, started.bundle.sha, signal, (waiting) => deps.orchestrator.start(started, waiting)),
    ),
    awaitHealth: provide('awaitHealth', (deps, { bundle }, signal) =>
      whileApplying(deps, bundle.sha, signal, (waiting) => deps.orchestrator.waitUntilHealthy(bundle.sha, waiting)),
    ),
    commit: provideLazy('commit', (services) => services.commit),
    restoreCurrent: provideLazy('restoreCurrent', (services) => services.restoreCurrent),
    revertRelease: provideLazy('revertRelease', (services) => services.revertRelease),
  };
}

/** A step of an apply that may take long: check-ins go on meanwhile. */
function whileApplying(
  deps: AgentDependencies,
  wanted: Sha | null,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  return whileCheckingIn(deps, { work: 'apply', wanted }, signal, work);
}

type Provide = ReturnType<typeof createProvider>;

/** Turns a service into the actor logic that the machines invoke under its name. */
function createProvider(deps: AgentDependencies) {
  return <TInput, TOutput>(name: string, service: Service<TInput, TOutput>) =>
    fromPromise<TOutput, TInput>(({ input, signal }) => {
      const stopSignal = AbortSignal.any([signal, deps.stop.signal]);
      return runTimed(deps, name, () => service(deps, input, stopSignal));
    });
}

/** Loads the services of `apply` on first use, since most ticks apply nothing. */
function lazyService<TInput, TOutput>(pick: PickApplyService<TInput, TOutput>): Service<TInput, TOutput> {
  return async (...args) => pick(await import('./apply/index.ts'))(...args);
}

/** Runs a service, records its duration and translates its error. */
async function runTimed<T>(deps: AgentDependencies, name: string, work: () => Promise<T>): Promise<T> {
  const { tick } = deps;
  const startedMs = monotonicMs();
  try {
    return await work();
  } catch (error) {
    throw translateError(deps, error);
  } finally {
    tick.readProgress = null;
    tick.durationsMs[name] = Math.round(monotonicMs() - startedMs);
  }
}

/**
 * Translates the error of a service for the machines (spec §14): every line is redacted; after STOP an unexpected error counts
 * as stopped; an engine that answered earlier in this tick and does not answer now interrupts the tick.
 */
function translateError({ stop, tick, vault }: AgentDependencies, error: unknown): unknown {
  if (!(error instanceof Fault)) return stop.signal.aborted ? stoppedFault() : error;
  const fault = redactFault({ vault }, error);
  if (fault.code !== 'RUNTIME_UNAVAILABLE' || !tick.engineAnswered) return fault;
  const { code, tail, lines } = fault;
  const [line = '', ...moreLines] = lines;
  const details = { code, ...(tail && { tail }), moreLines };
  return new Fault('interrupted', `the container engine stopped; the next tick continues: ${line}`, details);
}
