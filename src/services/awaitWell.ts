import { setTimeout as sleep } from 'node:timers/promises';
import { stopped } from '../../machines/fault.ts';
import { ailingOf, type Expected, type Watched } from '../rules/ailing.ts';
import { wellnessOf, type Inspected } from '../rules/health.ts';
import { expectedServices } from '../rules/record.ts';
import { notHealthy } from './notHealthy.ts';
import type { Tools } from './tools.ts';

/** Between two looks at the containers: a tenth of what was waited so far, within these, and no longer than one must settle. */
const [shortestPauseMs, longestPauseMs] = [100, 500];

/** Waits until every container of the release is well (spec §12). Throws UNHEALTHY with what the sick ones wrote. */
export async function awaitWell(tools: Tools, sha: string, signal: AbortSignal): Promise<void> {
  const { containers, releases, settings, tick } = tools;
  const expected = expectedServices(await releases.readRecord(sha));
  const began = Date.now();
  const watch: Watch = { settleMs: settings.settle_s * 1000, settling: new Map(), lastExits: new Map() };
  for (;;) {
    const seen = await containers.list();
    for (const { id, state, exitCode } of seen) if (hasExited(state)) watch.lastExits.set(id, exitCode);
    const lastStartMs = Math.max(tick.broughtUpMs, ...seen.map(startOf));
    const watched = seen.map((container) => watchedOf(watch, container, lastStartMs));
    const done = watched.filter(({ wellness }) => wellness === 'well').length;
    tick.howFar = () => ({ done, total: seen.length, unit: 'containers' });
    if (ailingOf(watched, expected).length === 0) {
      tick.well = seen.map((container) => ({ ...container, healthLog: [] }));
      return;
    }
    const late = Date.now() - began > settings.health_timeout_s * 1000;
    if (late || watched.some(({ wellness }) => wellness === 'lost')) {
      await learnExits(tools, watch, seen);
      const told = seen.map((container) => watchedOf(watch, container, lastStartMs));
      throw await notHealthy(tools, blamed(watch, told, expected), { expected, began });
    }
    const patience = Math.min(Math.max((Date.now() - began) / 10, shortestPauseMs), longestPauseMs);
    const unsettled = watched.map(({ unsettledMs }) => unsettledMs).filter((ms) => ms > 0);
    await pause(Math.min(patience, ...unsettled), signal);
  }
}

/** What a wait remembers from one look to the next. */
interface Watch {
  settleMs: number;
  /** When each was first seen to run, by id and start. */
  settling: Map<string, number>;
  /** With which code each was last seen to have ended, by id. */
  lastExits: Map<string, number>;
}

/** A container that died between two looks was not seen dead: the engine remembers how it ended. */
async function learnExits({ containers, tick }: Tools, { lastExits }: Watch, seen: Inspected[]): Promise<void> {
  for (const { id } of seen.filter(({ id, restarts }) => restarts > 0 && !lastExits.has(id))) {
    const exit = await containers.lastExit(id, tick.broughtUpMs).catch(() => null);
    if (exit !== null) lastExits.set(id, exit);
  }
}

/** How a container is that settles from `sinceMs` on: the last start of all, or compose's, since those that ran before may yet fall over it. */
function watchedOf(watch: Watch, container: Inspected, sinceMs: number): Watched & { unsettledMs: number } {
  const unsettled = unsettledMs(watch, container, sinceMs);
  const lastExit = watch.lastExits.get(container.id) ?? null;
  return { container, wellness: wellnessOf(container, unsettled === 0), lastExit, unsettledMs: unsettled };
}

/** Those that are not well by themselves; where each is, and only another start kept them waiting, all that waited. */
function blamed(watch: Watch, watched: Watched[], expected: Expected[]): Watched[] {
  const alone = watched.map(({ container }) => watchedOf(watch, container, startOf(container)));
  return ailingOf(alone, expected).length > 0 ? alone : watched;
}

/**
 * Milliseconds until it has run for the settle time, as the engine tells it; where that is yet to come, as clocks are set
 * back, since it was first seen to run.
 */
function unsettledMs({ settling, settleMs }: Watch, container: Inspected, sinceMs: number): number {
  const now = Date.now();
  if (container.state !== 'running') return settleMs;
  const start = `${container.id} ${container.startedMs} ${container.restarts}`;
  const seen = settling.get(start) ?? now;
  settling.set(start, seen);
  return Math.max(0, Math.min(seen, sinceMs) + settleMs - now);
}

/** 0 for what does not run, or tells no start. */
function startOf({ state, startedMs }: Inspected): number {
  return (state === 'running' && startedMs) || 0;
}

function hasExited(state: string): boolean {
  return state === 'restarting' || state === 'exited' || state === 'dead';
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw stopped();
  });
}
