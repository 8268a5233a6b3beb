import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { monotonicMs } from '../../core/clock.ts';

/** Milliseconds between two write attempts to a slow reader. */
const retryMs = 5;

/** Milliseconds for which a slow reader may block writes before lines are queued; reset when a write does not block. */
export const maxWaitMs = 5000;

/** Maximum number of queued bytes for a reader that does not read; more is lost. */
const maxQueuedBytes = 1_048_576;

/** Target of journal lines; with a file descriptor they are written synchronously. */
export type Stderr = NodeJS.WritableStream & { readonly fd?: number; readonly writableLength?: number };

/** A stream that loses no line when the process exits right after a write. */
export function createSink(stderr: Stderr): Writable {
  let leftMs = maxWaitMs;
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      leftMs = writeThrough(stderr, text, leftMs);
      done();
    },
  });
}

/** Writes a text, synchronously with a file descriptor; a closed reader is no error. Returns the remaining blocking time in milliseconds. */
export function writeThrough(stderr: Stderr, text: string, leftMs = maxWaitMs): number {
  const queued = stderr.writableLength ?? 0;
  const isSync = typeof stderr.fd === 'number' && queued === 0;
  const { rest, waitedMs } = isSync
    ? writeSyncWithin(stderr.fd, Buffer.from(text), leftMs)
    : { rest: text, waitedMs: 0 };
  if (rest.length > 0 && queued < maxQueuedBytes) stderr.write(rest);
  return rest.length === 0 && waitedMs === 0 ? maxWaitMs : leftMs - waitedMs;
}

/** Writes synchronously for at most `withinMs`; `rest` is the part that a slow reader did not read in time. */
function writeSyncWithin(fd: number, bytes: Buffer, withinMs: number): { rest: Buffer; waitedMs: number } {
  let rest = bytes;
  let waitedMs = 0;
  for (const startedMs = monotonicMs(); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return { rest: Buffer.alloc(0), waitedMs };
      if (waitedMs >= withinMs) break;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      waitedMs = monotonicMs() - startedMs;
    }
  }
  return { rest, waitedMs };
}
