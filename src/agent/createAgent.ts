import { join } from 'node:path';
import { apply } from '../../machines/apply.ts';
import { down } from '../../machines/down.ts';
import { endings } from '../../machines/endings.ts';
import { Fault, outcomeOf, stepError, stoppedFault } from '../../machines/fault.ts';
import { tick } from '../../machines/tick.ts';
import { engineAnswered } from '../../machines/tickSetup.ts';
import type { Outcome, RecordedTick, Sha } from '../../machines/types.ts';
import type { Report } from '../api/checkIn.rules.ts';
import { type Compose, createCompose } from './engine/compose.ts';
import { type Containers, createContainers } from './engine/containers.ts';
import { type Credentials, openCredentials } from './token/credentials.ts';
import { createDownload, type Download } from './transport/download.ts';
import { createHttpClient } from './transport/httpClient.ts';
import { createRegistries, type Registries } from './engine/registries.ts';
import { openReleases, type Releases } from './release/releases.ts';
import { createSecretstore, type Secretstore } from './token/secretstore.ts';
import { StateFile, type StateStore } from './state/stateFile.ts';
import type { SwarmOptions } from './swarm/openSwarm.ts';
import { createTenancy, type Tenancy } from './transport/tenancy.ts';
import { createTransport, openMeshStore, type Transport } from './transport/transport.ts';
import { openSystemRoots, type SystemRoots } from './transport/trustStore.ts';
import { otherEnvsOf } from './config/loadSettings.ts';
import type { OtherEnv, Settings } from './config/configKeys.ts';
import { type Journal, redactFault } from './journal/journal.ts';
import { TraceRecorder } from './journal/traceRecorder.ts';
import type { Decision } from './journal/trace.rules.ts';
import { traceparentOf } from './status/tickSpans.rules.ts';
import type { Vault } from './secrets/vault.ts';
import { withHooks } from './compose/hooks.ts';
import { type ComposeDependencies, type ComposeMemory, observe } from './compose/observe.ts';
import { reportedContainerOf } from './health/health.rules.ts';
import type { ApplyServices, ApplyStart, DownServices, TickServices } from '../../machines/services.ts';
import { fromPromise } from 'xstate';
import { monotonicMs } from '../core/clock.ts';
import { expectPermitted, permitsPaths } from './apply/policyHost.ts';
import { revertInterrupted } from './apply/revert.ts';
import { checkIn, whileCheckingIn } from './checkIn/checkIn.ts';
import { deliverReports } from './checkIn/reports.ts';
import { heal, healDespite } from './health/heal.ts';
import { composeUpNow, observeHost } from './health/observeHost.ts';
import { clearApplied, composeDown } from './release/down.ts';
import { prune, withFreedSpace } from './release/garbage.ts';
import type { AgentCargo, Carried, Orchestrator, StartInput } from './release/orchestrator.ts';
import { bootstrap, renewToken } from './token/token.ts';
import { acquireLock, loadState, rebuildState, recordOutcome, releaseLock, startTick, type TickScope } from './tick.ts';

/** The parts of an agent; each service declares the parts that it needs in its own interface. */
export interface AgentParts {
  readonly settings: Settings;
  readonly version: string;
  /** Name of the compose project: `deployd-<env>`. */
  readonly project: string;
  readonly vault: Vault;
  /** The journal of the process, without a tick id. */
  readonly journal: Journal;
  /** Collects the trace of the tick. */
  readonly recorder: TraceRecorder;
  readonly recordDecision: (decision: Decision) => void;
  readonly releases: Releases;
  readonly state: StateStore;
  readonly credentials: Credentials;
  readonly tenancy: Tenancy;
  readonly download: Download;
  readonly secretstore: Secretstore;
  readonly registries: Registries;
  readonly containers: Containers;
  readonly compose: Compose;
  readonly orchestrator: Orchestrator;
  readonly otherEnvs: () => OtherEnv[];
  /** Throws unless the policy and the trusted signers of this host permit a release now. */
  readonly expectPermitted: (sha: Sha, signal: AbortSignal) => Promise<void>;
  /** True for ticks of the loop or the timer, which no operator waits for. */
  readonly unattended: boolean;
  /** Aborted by STOP. */
  readonly stop: AbortController;
  /** The running tick; `acquireLock` replaces it. */
  tick: TickScope;
}

type Service<TInput, TOutput> = (parts: AgentParts, input: TInput, signal: AbortSignal) => Promise<TOutput>;

/** Composition root: settings → adapters → dependencies → services → machine `tick`. */
export async function createAgent(options: AgentOptions) {
  const { settings, vault, journal } = options;
  const warn = (line: string) => journal.warn(line);
  const roots = openSystemRoots(join(settings.state_dir, 'roots.pem'), { warn });
  const transport = createTransport(settings, roots, { warn, store: openMeshStore(settings.state_dir) });
  const deps = await createDependencies(options, { transport, roots });
  const services = createServices(deps);
  const machine = tick.provide({
    actors: {
      ...services.tick,
      // the machine does not read the cargo: its types are defined by the services
      apply: apply.provide({ actors: { ...(services.apply as ApplyServices) } }),
      down: down.provide({ actors: services.down }),
    },
    actions: {
      logOutcome: ({ context }, fault) =>
        logOutcome(deps, fault ? outcomeOf(stepError(fault.error, engineAnswered(context)), false) : context.outcome),
      clearSecrets: () => {
        if (settings.transport === 'sdk') vault.noteUntrackedSecrets(); // mesh logins and the host's private key
        vault.clear();
        transport.close();
      },
      abortWork: () => deps.stop.abort(),
    },
  });
  return { machine, deps };
}

/** Options that the command provides. */
export interface AgentOptions {
  settings: Settings;
  vault: Vault;
  journal: Journal;
  version: string;
  /** True for ticks of the loop or the timer, which no operator waits for. */
  unattended: boolean;
}

async function createDependencies(
  { settings, vault, journal, version, unattended }: AgentOptions,
  { transport, roots }: { transport: Transport; roots: SystemRoots },
): Promise<AgentParts> {
  const { env, state_dir: stateDir } = settings;
  const project = `deployd-${env}`;
  const releases = await openReleases(stateDir, env);
  const [recorder, stop] = [new TraceRecorder(() => vault.redactor()), new AbortController()];
  const recordDecision = (decision: Decision) => recordAndLog(deps, decision);
  const http = createHttpClient({ settings, transport, version, recordDecision });
  const apiContext = { http, vault, requestId: () => deps.tick.id, traceparent: () => traceparentOfCall(deps) };
  const warn = (line: string) => deps.tick.journal.error(line);
  const file = new StateFile({ stateDir, env, warn, rebuild: () => rebuildState(releases) });
  const swarmOptions = { settings, project, vault, releases, file, signal: stop.signal };
  const composeOptions = { redactor: () => vault.redactor(), podmanVersion: () => deps.containers.podmanVersion() };
  const deps: AgentParts = {
    ...{ settings, version, project, vault, journal },
    recorder,
    recordDecision,
    releases,
    credentials: openCredentials(settings),
    tenancy: createTenancy(apiContext),
    download: createDownload({ ...apiContext, settings }),
    secretstore: createSecretstore({ ...apiContext, settings }),
    registries: createRegistries({ settings, roots, version }),
    containers: withHooks(
      createContainers({
        containerHost: settings.container_host,
        project,
        signal: stop.signal,
        onInspect: () => vault.noteUntrackedSecrets(),
      }),
      () => deps,
    ),
    otherEnvs: () => otherEnvsOf(settings.config_file),
    expectPermitted: (sha, signal) => expectPermitted(deps, sha, signal),
    compose: createCompose(settings, project, composeOptions),
    ...(await orchestrationOf(() => deps, swarmOptions)),
    unattended,
    stop,
    tick: startTick(journal),
  };
  return deps;
}

/** The orchestrator of bundles and its state; the modules for a swarm are only loaded if it is configured. */
async function orchestrationOf(
  getDeps: () => AgentParts,
  options: SwarmOptions & { file: StateFile; releases: Releases },
): Promise<Pick<AgentParts, 'orchestrator' | 'state'>> {
  if (options.settings.orchestrator === 'compose')
    return { state: options.file, orchestrator: createComposeOrchestrator(getDeps) };
  const { createSwarmOrchestration } = await import('./swarm/swarmOrchestrator.ts');
  return createSwarmOrchestration(getDeps, options);
}

/** The header of a call that is made now. */
function traceparentOfCall({ settings, tick, recorder }: AgentParts): string | null {
  return settings.traces.otlp_endpoint === null ? null : traceparentOf(tick.id, recorder.stepCount());
}

function recordAndLog({ recorder, tick }: AgentParts, decision: Decision): void {
  const { word, ...facts } = recorder.recordDecision(decision);
  const fields = Object.entries<unknown>(facts).map(([name, value]) => [name, String(value)]);
  tick.journal.debug(`noted: ${word}`, Object.fromEntries(fields) as Record<string, string>);
}

function logOutcome({ tick }: AgentParts, outcome: Outcome | null): void {
  if (outcome === null) return;
  const { exit } = endings[outcome.ending].meta;
  const level = exit === 0 ? 'info' : exit === 75 ? 'warn' : 'error';
  for (const line of outcome.lines) tick.journal[level](line);
  if (outcome.tail !== null) tick.journal.block(level, outcome.tail);
}

/**
 * Implements every service of the machines; a missing or wrongly typed one does not compile. The signal of a service aborts
 * when the machine leaves its state, and at STOP.
 */
function createServices(deps: AgentParts): {
  tick: TickServices;
  apply: ApplyServices<AgentCargo>;
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
      deliverReports: provide('deliverReports', (deps, { heartbeat }: Pick<RecordedTick, 'heartbeat'>, signal) =>
        deliverReports(deps, { heartbeat: heartbeat as Report | null }, signal),
      ),
      heal: provide('heal', heal),
      healDespite: provide('healDespite', healDespite),
      clearStaging: provide('clearStaging', ({ releases }, { desired }, signal) =>
        releases.clearStaging(desired.desiredSha ?? '', signal),
      ),
      revertInterrupted: provide('revertInterrupted', revertInterrupted),
      recordOutcome: provide('recordOutcome', recordOutcome),
      prune: provide('prune', prune),
      renewToken: provide('renewToken', renewToken),
      releaseLock: provide('releaseLock', releaseLock),
    },
    apply: createApplyServices(provide),
    down: {
      composeDown: provide('composeDown', (deps, input, signal) =>
        whileCheckingIn(deps, { work: 'down', wanted: null, hold: input.hold }, signal, (waiting) =>
          composeDown(deps, input, waiting),
        ),
      ),
      clearApplied: provide('clearApplied', clearApplied),
    },
  };
}

function createApplyServices(provide: Provide): ApplyServices<AgentCargo> {
  const provideLazy = <TInput, TOutput>(name: string, load: () => Promise<Service<TInput, TOutput>>) =>
    provide(name, lazyService(load));
  return {
    download: provide('download', (deps, input, signal) =>
      whileApplying(deps, { hold: input.hold, wanted: input.desired.desiredSha }, signal, async (waiting) =>
        (await import('./apply/obtainBundle.ts')).download(deps, input, waiting),
      ),
    ),
    verifySignatures: provideLazy(
      'verifySignatures',
      async () => (await import('./apply/obtainBundle.ts')).verifySignatures,
    ),
    unpack: provideLazy('unpack', async () => (await import('./apply/obtainBundle.ts')).unpack),
    validateBundle: provideLazy('validateBundle', async () => (await import('./apply/validate.ts')).validateBundle),
    readSecrets: provideLazy('readSecrets', async () => (await import('./apply/readSecrets.ts')).readSecrets),
    validateRenderedModel: provideLazy(
      'validateRenderedModel',
      async () => (await import('./apply/validate.ts')).validateRenderedModel,
    ),
    verifyImages: provide('verifyImages', (deps, input: Carried<'hold' | 'bundle' | 'project' | 'model'>, signal) =>
      whileApplying(deps, wantedBy(input), signal, async (waiting) =>
        (await import('./apply/verifyImages.ts')).verifyImages(deps, input, waiting),
      ),
    ),
    renderRelease: provideLazy('renderRelease', async () => (await import('./apply/renderRelease.ts')).renderRelease),
    promote: provideLazy('promote', async () => (await import('./apply/commit.ts')).promote),
    pull: provide('pull', (deps, input: Carried<'hold' | 'bundle' | 'release'>, signal) =>
      whileApplying(deps, wantedBy(input), signal, async (waiting) => {
        await deps.orchestrator.pull(input, waiting);
        if (permitsPaths(deps.settings)) await deps.expectPermitted(input.bundle.sha, waiting);
      }),
    ),
    startContainers: provide('startContainers', async (deps, input: Carried<'hold' | StartInput>, signal) => {
      const start = (waiting: AbortSignal) => deps.orchestrator.start(input, waiting);
      return { started: await whileApplying(deps, wantedBy(input), signal, start) };
    }),
    awaitHealth: provide('awaitHealth', (deps, input: Carried<'hold' | 'bundle' | 'started'>, signal) =>
      whileApplying(deps, wantedBy(input), signal, (waiting) => deps.orchestrator.waitUntilHealthy(input, waiting)),
    ),
    commit: provideLazy('commit', async () => (await import('./apply/commit.ts')).commit),
    restoreCurrent: provideLazy('restoreCurrent', async () => (await import('./apply/revert.ts')).restoreCurrent),
    revertRelease: provideLazy('revertRelease', async () => (await import('./apply/revert.ts')).revertRelease),
  };
}

/** A step of an apply that may take long: check-ins continue meanwhile. */
function whileApplying<T>(
  deps: AgentParts,
  purpose: Pick<ApplyStart, 'hold'> & { wanted: Sha | null },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const step = (waiting: AbortSignal) => withFreedSpace(deps, purpose.wanted, () => work(waiting));
  return whileCheckingIn(deps, { work: 'apply', ...purpose }, signal, step);
}

function wantedBy({ hold, bundle }: Carried<'hold' | 'bundle'>) {
  return { hold, wanted: bundle.sha };
}

type Provide = ReturnType<typeof createProvider>;

/** Turns a service into the actor logic that the machines invoke under its name. */
function createProvider(deps: AgentParts) {
  return <TInput, TOutput>(name: string, service: Service<TInput, TOutput>) =>
    fromPromise<TOutput, TInput>(({ input, signal }) => {
      const stopSignal = AbortSignal.any([signal, deps.stop.signal]);
      return runTimed(deps, name, () => service(deps, input, stopSignal));
    });
}

/** Loads the services of `apply` on first use, since most ticks apply nothing. */
function lazyService<TInput, TOutput>(load: () => Promise<Service<TInput, TOutput>>): Service<TInput, TOutput> {
  return async (...args) => (await load())(...args);
}

/** Runs a service, records its duration and translates its error. */
async function runTimed<T>(deps: AgentParts, name: string, work: () => Promise<T>): Promise<T> {
  const { tick } = deps;
  const startedMs = monotonicMs();
  try {
    return await work();
  } catch (error) {
    throw translateError(deps, error);
  } finally {
    tick.journal.progress = null;
    tick.clock.durationsMs[name] = Math.round(monotonicMs() - startedMs);
  }
}

/** Translates the error of a service for the machines (spec §14): every line is redacted; after STOP an unexpected error counts as stopped. */
function translateError({ stop, vault }: AgentParts, error: unknown): unknown {
  if (!(error instanceof Fault)) return stop.signal.aborted ? stoppedFault() : error;
  return redactFault({ vault }, error);
}

/**
 * Docker compose on one host; modules that change something are loaded on first use, since most ticks change nothing.
 */
function createComposeOrchestrator(getParts: () => Omit<ComposeDependencies, 'memory'>): Orchestrator {
  let memory: ComposeMemory = emptyMemory('');
  const getDeps = (): ComposeDependencies => {
    const parts = getParts();
    if (memory.tickId !== parts.tick.id) memory = emptyMemory(parts.tick.id);
    return { ...parts, memory };
  };
  return {
    isShared: false,
    membership: async () => ({ leader: null, swarm: null }),
    obtain: async () => undefined, // no other host applies
    observe: (applied) => observe(getDeps(), applied),
    adopt: async (sha, signal) =>
      (await import('./compose/recordContainers.ts')).adoptContainers(getDeps(), sha, signal),
    pull: async (input, signal) => (await import('./compose/pull.ts')).pull(getDeps(), input, signal),
    start: async (input, signal) => (await import('./compose/start.ts')).startContainers(getDeps(), input, signal),
    waitUntilHealthy: async ({ bundle: { sha }, started }, signal) =>
      (await import('./compose/waitUntilHealthy.ts')).waitUntilHealthy(getDeps(), { sha, ...started }, signal),
    restore: async (release, signal) => (await import('./compose/start.ts')).restore(getDeps(), release, signal),
    removeUnused: async () => (await import('./compose/networks.ts')).removeUnusedNetworks(getDeps()), // compose removes orphan containers as it starts
    runningImages: async () => (await import('./compose/images.ts')).runningImages(getDeps()),
    finishedOneShots: async (record, services) =>
      (await import('./compose/oneShots.ts')).readFinishedOneShots(getDeps(), record, services),
    containers: async () => {
      const {
        memory: { healthyContainers },
      } = getDeps();
      return (healthyContainers ?? (await getDeps().containers.listStatuses())).map(reportedContainerOf);
    },
    volumes: async () => (await getDeps().containers.ownedResources()).volumes,
    down: async (options, signal) => (await import('./compose/down.ts')).down(getDeps(), options, signal),
    prune: async () => (await import('./release/garbage.ts')).pruneImages(getDeps()),
  };
}

/** Nothing was changed in this tick yet. */
function emptyMemory(tickId: string): ComposeMemory {
  return { tickId, healthyContainers: null, pulledTags: new Map(), lastComposeUp: composeUpNow([]) };
}
