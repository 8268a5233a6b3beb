import { isRestartedByEngine, type InspectedContainer } from './health.ts';

/** A container that ended too often in too short a time. */
export interface CrashLoop {
  exits: number;
  /** From the first of these exits to the last one. */
  seconds: number;
  lastExit: number;
}

/** One end of a container. */
export interface TimedExit {
  /** Milliseconds; all exits of a container by one clock. */
  atMs: number;
  code: number;
}

/** So many exits within this time are a crash loop. */
const [loopExits, loopMs] = [3, 30_000];

/**
 * A crash loop among the exits of a container, oldest first; null when there is none. An exit with 0 is the end of a
 * container that the engine restarts only after a failure.
 */
export function findCrashLoop(
  container: Pick<InspectedContainer, 'restartPolicy'>,
  exits: readonly TimedExit[],
): CrashLoop | null {
  const crashes = isRestartedByEngine(container) ? exits : exits.filter(({ code }) => code !== 0);
  for (const [index, first] of crashes.entries()) {
    const last = crashes[index + loopExits - 1];
    if (last === undefined || last.atMs - first.atMs > loopMs) continue;
    const seconds = Math.round((last.atMs - first.atMs) / 1000);
    return { exits: loopExits, seconds, lastExit: last.code };
  }
  return null;
}

/** The exits of containers by their restart counts, for an engine that sends no events: each at its first observation. */
export class RestartCounts {
  readonly #counts = new Map<string, number>();
  readonly #exits = new Map<string, TimedExit[]>();

  /** The exits of a container that were observed so far, with `code` as the exit code of the last one. */
  exitsOf({ id, restarts }: InspectedContainer, { nowMs, code }: { nowMs: number; code: number }): TimedExit[] {
    const known = this.#counts.get(id) ?? restarts;
    this.#counts.set(id, restarts);
    const exits = this.#exits.get(id) ?? [];
    for (let count = Math.max(known, restarts - loopExits); count < restarts; count += 1)
      exits.push({ atMs: nowMs, code });
    this.#exits.set(id, exits.slice(-loopExits));
    return exits.slice(-loopExits);
  }
}
