import { heed } from '../../../../machines/fault.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import { clockMs } from '../../journal/clock.ts';
import type { Inspected } from '../../rules/health/health.ts';

/** Between two looks at all containers: where the engine tells what changes, and where it does not. */
const [rarelyMs, oftenMs] = [10_000, 500];
const shortestPauseMs = 100;

/** The containers of the project's services, as far as they were seen. */
export interface Followed {
  /** By name. */
  containers: () => Inspected[];
  /** With which code each ended last since then, by id, as the engine told. */
  exits: ReadonlyMap<string, number>;
  /** Waits until one changed, and so long at most. Throws Fault `stopped`, or where the engine does not answer. */
  next: (mostMs: number, signal: AbortSignal) => Promise<void>;
  close: () => void;
}

/**
 * Follows the containers by what the engine tells as it happens, and inspects only those that changed. An engine may keep
 * its events to itself, or lose some: so all are looked at from time to time, and whenever a wait was in vain. Exits count
 * from `sinceMs` on (of the wall clock).
 */
export async function follow(containers: Containers, sinceMs: number): Promise<Followed> {
  const events = await containers.events(sinceMs);
  const known = new Map<string, Inspected>();
  const beganMs = clockMs();
  let lookedMs = beganMs;
  const lookAtAll = async () => {
    lookedMs = clockMs();
    const all = await containers.list();
    known.clear();
    for (const each of all) known.set(each.id, each);
  };
  const lookAgain = async (id: string) => {
    const found = await containers.lookAt({ id });
    if (found === null || found.oneOff) known.delete(id);
    else known.set(id, found);
  };
  const dueMs = () => {
    const patienceMs = Math.min(Math.max((clockMs() - beganMs) / 10, shortestPauseMs), oftenMs);
    return lookedMs + (events.isLive() ? rarelyMs : patienceMs) - clockMs();
  };
  events.take();
  await lookAtAll().catch((error: unknown) => {
    events.close();
    throw error;
  });
  return {
    containers: () => [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    exits: events.exits,
    next: async (mostMs, signal) => {
      await events.next(Math.min(mostMs, dueMs()), signal);
      heed(signal);
      const changed = events.take();
      if (changed.length > 0 && dueMs() > 0) await Promise.all(changed.map(lookAgain));
      else await lookAtAll();
    },
    close: events.close,
  };
}
