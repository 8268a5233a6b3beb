import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../platform/clock.ts';

/** What the program is connected to; `process` is one. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable;
  /** For tests; the system's by default. */
  readonly clock?: Clock;
}

/** Time that passes. */
export interface Clock {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** The clock of the system. */
export const systemClock: Clock = { now: monotonicMs, sleep };
