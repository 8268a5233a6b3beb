import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Refusal } from '../../../machines/refusals.ts';
import { monotonicMs } from '../../core/clock.ts';

/** Exit codes: the last two come from sysexits.h. */
export const exits = { done: 0, failed: 1, usage: 2, superseded: 3, temporary: 75, notPermitted: 77 } as const;
export type Exit = (typeof exits)[keyof typeof exits];

/** Why a bundle was refused; a code of the tenancy service may be newer than this program. */
export type BundleRefusal = Omit<Refusal, 'code'> & { code: string };

/** The output for an error: `code` and `message` as in the API's error body. */
export interface CtlErrorFields {
  exit: Exit;
  code: string;
  message: string;
  /** The remedy; commands one a line. */
  remedy?: string;
  refusals?: readonly BundleRefusal[];
}

/** A command did not succeed. Never holds a token or the value of a secret. */
export class CtlError extends Error {
  override readonly name = 'CtlError';
  readonly fields: CtlErrorFields;

  constructor(fields: CtlErrorFields) {
    super(`${fields.code}: ${fields.message}`);
    this.fields = fields;
  }
}

/** The command line, the configuration or a file that was named is at fault: nothing was sent. */
export function usageError(code: string, message: string, remedy?: string): CtlError {
  return new CtlError({ exit: exits.usage, code, message, ...(remedy !== undefined && { remedy }) });
}

/** The streams and environment of the program; `process` is one. */
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
