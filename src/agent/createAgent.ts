import { join } from 'node:path';
import { apply } from '../../machines/apply.ts';
import { down } from '../../machines/down.ts';
import { endings } from '../../machines/endings.ts';
import { outcomeOf } from '../../machines/outcomes.ts';
import { tick } from '../../machines/tick.ts';
import type { Outcome } from '../../machines/types.ts';
import { createCompose } from './engine/compose.ts';
import { createContainers } from './engine/containers.ts';
import { openCredentials } from './token/credentials.ts';
import { createDownload } from './transport/download.ts';
import { createHttpClient } from './transport/httpClient.ts';
import { createRegistries } from './engine/registries.ts';
import { openReleases, type Releases } from './release/releases.ts';
import { createSecretstore } from './token/secretstore.ts';
import { StateFile } from './state/stateFile.ts';
import type { SwarmOptions } from './swarm/openSwarm.ts';
import { createTenancy } from './transport/tenancy.ts';
import type { Transport } from './transport/agents.ts';
import { openSystemRoots, type SystemRoots } from './transport/trustStore.ts';
import { createTransport } from './transport/transport.ts';
import { otherEnvsOf } from './config/loadSettings.ts';
import type { Settings } from './config/settings.ts';
import type { Journal } from './journal/journal.ts';
import { TraceRecorder } from './journal/traceRecorder.ts';
import type { Decision } from './journal/trace.rules.ts';
import { traceparentOf } from './status/tickSpans.rules.ts';
import type { Vault } from './secrets/vault.ts';
import { createComposeOrchestrator } from './compose/composeOrchestrator.ts';
import { createServices, type AgentDependencies } from './services.ts';
import { rebuildState, startTick } from './tick.ts';

/** Everything that an agent is put together of; each service names the part that it takes. */
export interface AgentParts extends AgentDependencies {
  /** Collects the trace of the tick. */
  readonly recorder: TraceRecorder;
}

/** Composition root: settings → adapters → dependencies → services → machine `tick`. */
export async function createAgent(options: AgentOptions) {
  const { settings, vault, journal } = options;
  const roots = openSystemRoots(join(settings.state_dir, 'roots.pem'), { warn: (line) => journal.warn(line) });
  const transport = createTransport(settings, roots);
  const deps = await createDependencies(options, { transport, roots });
  const services = createServices(deps);
  const machine = tick.provide({
    actors: {
      ...services.tick,
      apply: apply.provide({ actors: services.apply }),
      down: down.provide({ actors: services.down }),
    },
    actions: {
      logOutcome: ({ context }, fault) => logOutcome(deps, fault ? outcomeOf(fault.error, false) : context.outcome),
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
    containers: createContainers({
      containerHost: settings.container_host,
      project,
      signal: stop.signal,
      onInspect: () => vault.noteUntrackedSecrets(),
    }),
    otherEnvs: () => otherEnvsOf(settings.config_file),
    compose: createCompose(settings, project, composeOptions),
    ...(await orchestrationOf(() => deps, swarmOptions)),
    unattended,
    stop,
    tick: startTick(journal),
  };
  return deps;
}

/** What runs bundles, and where the state is that goes with it; that of a swarm is loaded where it is configured. */
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
