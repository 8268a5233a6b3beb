import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { clockMs } from './clock.ts';

/** Pause between two tries on a reader that is slow, in milliseconds. */
const retryMs = 5;

/** How long a reader may keep lines waiting before they are queued instead, in milliseconds, until it takes one at once. */
export const patienceMs = 5000;

/** Bytes that are queued for a reader who takes nothing; what is more is lost. */
const mostQueued = 1_048_576;

/** Where journal lines go; with a descriptor they are written before the call returns. */
export type Stderr = NodeJS.WritableStream & { readonly fd?: number; readonly writableLength?: number };

/** A stream that loses nothing when the process exits right after a write. */
export function createSink(stderr: Stderr): Writable {
  let leftMs = patienceMs;
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      leftMs = writeThrough(stderr, text, leftMs);
      done();
    },
  });
}

/** A reader of the stream that leaves, or a disk below it that is full, is then no error that ends the process (spec §14). */
export function outlive<T extends NodeJS.WritableStream>(stream: T): T {
  return stream.on('error', () => undefined);
}

/** Writes `text` at once where there is a descriptor; a reader that has gone is no error. Returns the patience left, in milliseconds. */
export function writeThrough(stderr: Stderr, text: string, leftMs = patienceMs): number {
  const queued = stderr.writableLength ?? 0;
  const isNow = typeof stderr.fd === 'number' && queued === 0;
  const { rest, waitedMs } = isNow ? writeNow(stderr.fd, Buffer.from(text), leftMs) : { rest: text, waitedMs: 0 };
  if (rest.length > 0 && queued < mostQueued) stderr.write(rest);
  return rest.length === 0 && waitedMs === 0 ? patienceMs : leftMs - waitedMs;
}

/** What a slow reader did not take in time is the rest. */
function writeNow(fd: number, bytes: Buffer, withinMs: number): { rest: Buffer; waitedMs: number } {
  let rest = bytes;
  let waitedMs = 0;
  for (const began = clockMs(); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return { rest: Buffer.alloc(0), waitedMs };
      if (waitedMs >= withinMs) break;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      waitedMs = clockMs() - began;
    }
  }
  return { rest, waitedMs };
}
