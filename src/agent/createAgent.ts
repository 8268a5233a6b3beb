import { join } from 'node:path';
import { apply } from '../../machines/apply.ts';
import { down } from '../../machines/down.ts';
import { endings } from '../../machines/endings.ts';
import { outcomeOf } from '../../machines/outcomes.ts';
import { tick } from '../../machines/tick.ts';
import type { Outcome } from '../../machines/words.ts';
import { createCompose } from './adapters/compose/compose.ts';
import { createContainers } from './adapters/engine/containers.ts';
import { openCredentials } from './adapters/files/credentials.ts';
import { createDownload } from './adapters/http/download.ts';
import { createHttp } from './adapters/http/http.ts';
import { openReleases } from './adapters/files/releases.ts';
import { createSecretstore } from './adapters/http/secretstore.ts';
import { StateFile } from './adapters/files/state.ts';
import { createTenancy } from './adapters/http/tenancy.ts';
import type { Transport } from './adapters/transport/agents.ts';
import { systemRoots } from './adapters/transport/roots.ts';
import { createTransport } from './adapters/transport/transport.ts';
import type { Settings } from './config/settings.ts';
import type { Journal } from './journal/journal.ts';
import { Recorder } from './journal/recorder.ts';
import type { Decision } from './rules/trace/trace.ts';
import type { Vault } from './secrets/vault.ts';
import { servicesOf } from './services/index.ts';
import { rebuilt } from './services/tick/recall.ts';
import { beginTick, type Tools } from './services/tools.ts';

/** The only place that builds things: settings → adapters → tools → services → the machine. */
export async function wire(parts: Parts) {
  const { settings, vault, journal } = parts;
  const roots = systemRoots(join(settings.state_dir, 'roots.pem'), { tell: (line) => journal.warn(line) });
  const transport = createTransport(settings, roots);
  const tools = await toolsOf(parts, transport);
  const services = servicesOf(tools);
  const machine = tick.provide({
    actors: {
      ...services.tick,
      apply: apply.provide({ actors: services.apply }),
      down: down.provide({ actors: services.down }),
    },
    actions: {
      tell: ({ context }, fault) => tell(tools, fault ? outcomeOf(fault.error, false) : context.outcome),
      scrub: () => {
        if (settings.transport === 'sdk') vault.noteUnheld(); // its logins, and the host's key
        vault.forget();
        transport.close();
      },
      abortWork: () => tools.stop.abort(),
    },
  });
  return { machine, tools };
}

/** What a command brings along. */
export interface Parts {
  settings: Settings;
  vault: Vault;
  journal: Journal;
  version: string;
  /** Nobody waits for its ticks: the loop's, or systemd's. */
  unattended: boolean;
}

async function toolsOf({ settings, vault, journal, version, unattended }: Parts, transport: Transport): Promise<Tools> {
  const { env, state_dir: stateDir } = settings;
  const project = `deployd-${env}`;
  const stop = new AbortController();
  const releases = await openReleases(stateDir, env);
  const recorder = new Recorder(() => vault.redactor());
  const note = (decision: Decision) => noted(tools, decision);
  const http = createHttp({ settings, transport, version, note });
  const caller = { http, vault, requestId: () => tools.tick.id };
  const warn = (line: string) => tools.tick.journal.error(line);
  const tools: Tools = {
    settings,
    version,
    project,
    vault,
    journal,
    recorder,
    note,
    releases,
    state: new StateFile({ stateDir, env, warn, rebuild: () => rebuilt(releases) }),
    credentials: openCredentials(settings),
    tenancy: createTenancy(caller),
    download: createDownload({ ...caller, settings }),
    secretstore: createSecretstore({ ...caller, settings }),
    containers: createContainers({
      containerHost: settings.container_host,
      project,
      signal: stop.signal,
      onInspect: () => vault.noteUnheld(),
    }),
    compose: createCompose(settings, project, { redactor: () => vault.redactor() }),
    unattended,
    stop,
    tick: beginTick(journal),
  };
  return tools;
}

function noted({ recorder, tick }: Tools, decision: Decision): void {
  const { word, ...facts } = recorder.note(decision);
  const fields = Object.entries<unknown>(facts).map(([name, fact]) => [name, String(fact)]);
  tick.journal.debug(`noted: ${word}`, Object.fromEntries(fields) as Record<string, string>);
}

function tell({ tick }: Tools, outcome: Outcome | null): void {
  if (outcome === null) return;
  const { exit } = endings[outcome.ending].meta;
  const level = exit === 0 ? 'info' : exit === 75 ? 'warn' : 'error';
  for (const line of outcome.lines) tick.journal[level](line);
  if (outcome.tail !== null) tick.journal.block(level, outcome.tail);
}
