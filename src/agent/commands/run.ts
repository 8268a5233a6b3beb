import { setTimeout as sleep } from 'node:timers/promises';
import { createActor, toPromise, type InspectionEvent } from 'xstate';
import { endings, otherEndings } from '../../../machines/endings.ts';
import { loop } from '../../../machines/loop.ts';
import { outcomeOf } from '../../../machines/outcomes.ts';
import type { Start } from '../../../machines/words.ts';
import { atStop } from '../adapters/host/signals.ts';
import type { Settings } from '../config/settings.ts';
import { createJournal, type Journal } from '../journal/journal.ts';
import { LiveLine } from '../journal/liveLine.ts';
import { sleepS, spreadS } from '../rules/schedule/checkInBackoff.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Tools } from '../services/tools.ts';
import { version } from '../../version.ts';
import { wire } from '../createAgent.ts';
import { showProgress } from './progress.ts';
import { keepTraces } from './tracing.ts';
import { watched, type Watcher } from './watch.ts';

/** What of a start the command decides; the rest stands in the configuration. */
type Wish = Omit<Start, 'laptopMode'>;

/**
 * Interprets the tick machine once (spec §2.1); the exit code is the ending's. On a terminal it shows what it is at. Where
 * systemd's timer started it, a host that is back waits before it ends, since the timer counts from there (spec §10.4).
 */
export async function runOnce(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  const isForPeople = process.stderr.isTTY && ['auto', 'pretty'].includes(settings.log.format);
  const live = isForPeople ? new LiveLine(process.stderr) : null;
  const unattended = process.env['TRIGGER_UNIT']?.endsWith('.timer') ?? false;
  return interpreting({ settings, vault, wish, live, unattended }, async ({ machine, tools, inspect }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    const actor = createActor(machine, { input, inspect });
    const ended = toPromise(actor);
    const stop = new AbortController();
    atStop(() => {
      actor.send({ type: 'STOP' });
      stop.abort();
    });
    actor.start();
    const { ending } = await ended;
    if (tools.tick.isBack) await endLate(tools, stop.signal);
    return endings[ending].meta.exit;
  });
}

/**
 * The loop: tick, `interval_s` plus up to 10 s of jitter, until SIGTERM or a wrong env (spec §2.2). Other loops may have
 * begun together with this one, or be back together with it: then the pause is longer, once (spec §10.4).
 */
export async function runLoop(settings: Settings, vault: Vault, wish: Wish): Promise<number> {
  return interpreting({ settings, vault, wish, live: null, unattended: true }, async ({ machine, tools, inspect }) => {
    const input = { ...wish, laptopMode: settings.laptop_mode };
    let isFirst = true;
    const interval = () => {
      const spread = isFirst || tools.tick.isBack ? spreadS(settings.interval_s, Math.random()) : 0;
      isFirst = false;
      return (sleepS(settings.interval_s, Math.random()) + spread) * 1000;
    };
    const looping = loop.provide({ actors: { tick: machine }, delays: { interval } });
    const actor = createActor(looping, { input, inspect });
    const ended = toPromise(actor);
    atStop(() => actor.send({ type: 'STOP' }));
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
  /** Nobody waits for its ticks: the loop's, or the timer's. */
  unattended: boolean;
}

type Interpret = (parts: {
  machine: Awaited<ReturnType<typeof wire>>['machine'];
  tools: Tools;
  inspect: (event: InspectionEvent) => void;
}) => Promise<number>;

/** Opens the journal and wires the machine; what fails before a tick can begin is told like the end of one. */
async function interpreting(interpretation: Interpretation, interpret: Interpret): Promise<number> {
  const { settings, vault, wish, live, unattended } = interpretation;
  const { format, level } = settings.log;
  const { isTTY: isTerminal } = process.stderr;
  const redact = () => vault.redactor();
  const journal = createJournal({ format, level, redact, stderr: process.stderr, isTerminal, live });
  try {
    const { machine, tools } = await wire({ settings, vault, journal, version, unattended });
    const traces = keepTraces(tools, wish.intent);
    const watchers = [toldTo(journal), traces, ...(live ? [showProgress(tools, live)] : [])];
    const exit = await interpret({ machine, tools, inspect: watched(watchers) });
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

/** Waits for as long as the next tick is to be put off; a signal ends it. */
async function endLate({ settings, journal }: Tools, signal: AbortSignal): Promise<void> {
  const spread = spreadS(settings.interval_s, Math.random());
  journal.debug('back after an absence: ends late, so that the next tick comes later', { seconds: Math.round(spread) });
  await sleep(spread * 1000, undefined, { signal }).catch(() => undefined);
}

/** One debug line per transition. */
function toldTo(journal: Journal): Watcher {
  return {
    moved: ({ actor, state, on, first }) => {
      if (!first) journal.debug(`state: ${actor} ${JSON.stringify(state)}`, { on });
    },
  };
}
