import { throwIfStopped } from '../../../../machines/fault.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import type { TimedExit } from '../../rules/health/crashLoop.ts';
import { monotonicMs } from '../../../core/clock.ts';
import type { InspectedContainer } from '../../rules/health/health.ts';

/** Milliseconds between two queries of all containers while the event stream works. */
const livePollMs = 10_000;

/** The same without events: a tenth of the time that the wait has taken, within these bounds. */
const [minPollMs, maxPollMs] = [100, 500];

/** Watches the containers of the project's services. */
export interface ContainerWatch {
  /** Latest known state, sorted by name. */
  containers: () => InspectedContainer[];
  /** Last exit code of each container since `sinceMs`, by id. */
  exits: ReadonlyMap<string, number>;
  /** The last exits of a container, oldest first; null while the engine sends no events. */
  recentExits: (id: string) => readonly TimedExit[] | null;
  /** Waits until a container changes, at most `maxMs`. Throws Fault `stopped`, or that of the engine. */
  next: (maxMs: number, signal: AbortSignal) => Promise<void>;
  close: () => void;
}

/**
 * Follows the event stream of the engine and inspects only containers that changed. Events may be missing or lost, so all
 * containers are queried from time to time and after every wait without an event. Exits count from `sinceMs` on (wall clock).
 */
export async function watchContainers(containers: Containers, sinceMs: number): Promise<ContainerWatch> {
  const events = await containers.subscribeToEvents(sinceMs);
  const known = new Map<string, InspectedContainer>();
  const startedMs = monotonicMs();
  let queriedMs = startedMs;
  const queryAll = async () => {
    queriedMs = monotonicMs();
    const all = await containers.list();
    known.clear();
    for (const container of all) known.set(container.id, container);
  };
  const refresh = async (id: string) => {
    const found = await containers.inspect({ id });
    if (found === null || found.oneOff) known.delete(id);
    else known.set(id, found);
  };
  const dueMs = () => {
    const pollMs = Math.min(Math.max((monotonicMs() - startedMs) / 10, minPollMs), maxPollMs);
    return queriedMs + (events.isLive() ? livePollMs : pollMs) - monotonicMs();
  };
  events.takeChanged();
  await queryAll().catch((error: unknown) => {
    events.close();
    throw error;
  });
  return {
    containers: () => [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    exits: events.exitCodes,
    recentExits: (id) => (events.isLive() ? (events.exits.get(id) ?? []) : null),
    next: async (maxMs, signal) => {
      await events.waitForNext(Math.min(maxMs, dueMs()), signal);
      throwIfStopped(signal);
      const changed = events.takeChanged();
      if (changed.length > 0 && dueMs() > 0) await Promise.all(changed.map(refresh));
      else await queryAll();
    },
    close: events.close,
  };
}
