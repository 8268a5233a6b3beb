import { createActor, toPromise, type InspectionEvent } from 'xstate';
import { endings, otherEndings } from '../../machines/endings.ts';
import { loop } from '../../machines/loop.ts';
import { outcomeOf } from '../../machines/outcomes.ts';
import type { Start } from '../../machines/words.ts';
import type { Settings } from '../config/settings.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import { LiveLine } from '../journal/liveLine.ts';
import type { Vault } from '../secrets/vault.ts';
import { version } from '../version.ts';
import { wire } from '../wire.ts';
import { showProgress } from './progress.ts';
import { keepTraces } from './tracing.ts';
import { watched, type Watcher } from './watch.ts';

const JITTER_MS = 10_000;

/** What of a start the command decides; the rest stands in the configuration. */
type Wish = Omit<Start, 'laptopMode'>;

/** Interprets the tick machine once (spec §2.1); the exit code is the ending's. On a terminal it shows what it is at. */
export async function runOnce(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  const isForPeople = process.stderr.isTTY && ['auto', 'pretty'].includes(settings.log.format);
  const live = isForPeople ? new LiveLine(process.stderr) : null;
  return interpreting({ settings, vault, wish, live }, async ({ machine, inspect }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    const actor = createActor(machine, { input, inspect });
    const ended = toPromise(actor);
    stopAtSignals(() => actor.send({ type: 'STOP' }));
    actor.start();
    return endings[(await ended).ending].meta.exit;
  });
}

/** The loop: tick, `interval_s` plus up to 10 s of jitter, until SIGTERM or a wrong env (spec §2.2). */
export async function runLoop(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  return interpreting({ settings, vault, wish, live: null }, async ({ machine, inspect }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    const interval = () => settings.interval_s * 1000 + Math.random() * JITTER_MS;
    const looping = loop.provide({ actors: { tick: machine }, delays: { interval } });
    const actor = createActor(looping, { input, inspect });
    const ended = toPromise(actor);
    stopAtSignals(() => actor.send({ type: 'STOP' }));
    actor.start();
    return { ...endings, ...otherEndings }[(await ended).ending].meta.exit;
  });
}

interface Interpretation {
  settings: Settings;
  vault: Vault;
  wish: Wish;
  /** Null where nothing is to be shown while it works. */
  live: LiveLine | null;
}

type Interpret = (parts: {
  machine: Awaited<ReturnType<typeof wire>>['machine'];
  inspect: (event: InspectionEvent) => void;
}) => Promise<number>;

/** Opens the journal and wires the machine; what fails before a tick can begin is told like the end of one. */
async function interpreting({ settings, vault, wish, live }: Interpretation, interpret: Interpret): Promise<number> {
  const { format, level } = settings.log;
  const { isTTY: isTerminal } = process.stderr;
  const redact = () => vault.redactor();
  const journal = createJournal({ format, level, redact, stderr: process.stderr, isTerminal, live });
  try {
    const { machine, tools } = await wire({ settings, vault, journal, version });
    const traces = keepTraces(tools, wish.intent);
    const watchers = [toldTo(journal), traces, ...(live ? [showProgress(tools, live)] : [])];
    const exit = await interpret({ machine, inspect: watched(watchers) });
    await traces.kept();
    return exit;
  } catch (error) {
    const { ending, lines } = outcomeOf(error, settings.laptop_mode);
    for (const line of lines) journal.error(line);
    return endings[ending].meta.exit;
  } finally {
    live?.close();
    await journal.flush();
  }
}

/** A second signal has its usual effect. */
function stopAtSignals(stop: () => void): void {
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** One debug line per transition. */
function toldTo(journal: Journal): Watcher {
  return {
    moved: ({ actor, state, on, first }) => {
      if (!first) journal.debug(`state: ${actor} ${JSON.stringify(state)}`, { on });
    },
  };
}
