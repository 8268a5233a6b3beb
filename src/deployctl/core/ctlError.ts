import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../../machines/fault.ts';
import type { Refusal } from '../../../machines/refusals.ts';
import { monotonicMs } from '../../core/clock.ts';
import { exitCodes } from '../../core/commandLine.ts';
import { DiskFault } from '../../core/errors.rules.ts';

/** The exit codes of this program. */
export const exits = exitCodes.deployctl;
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
  /** Further lines below the message, such as the candidates for an ambiguous name. */
  details?: readonly string[];
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

/** Runs `work` on the files of a bundle; its Faults are thrown as CtlErrors. */
export async function withBundleFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const code = error.code === null ? 'FILE_UNREADABLE' : error instanceof DiskFault ? 'FILE_UNWRITABLE' : error.code;
    const message = error.message.replace(/^(refused: \w+|failed): /, '');
    throw new CtlError({ exit: exits.failed, code, message });
  }
}

/** The error of a bundle that hosts would refuse. */
export function refusedBundle(refusals: readonly Refusal[]): CtlError {
  const { code = 'MANIFEST_INVALID', detail = '' } = refusals[0] ?? {};
  return new CtlError({ exit: exits.failed, code, message: detail, refusals });
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
