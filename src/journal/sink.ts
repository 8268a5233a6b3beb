import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';

/** Pause between two tries on a reader that is slow, in milliseconds. */
const retryMs = 5;

/** How long a reader may keep a line waiting before it is queued instead, in milliseconds. */
const patienceMs = 5000;

/** Where journal lines go; with a descriptor they are written before the call returns. */
export type Stderr = NodeJS.WritableStream & { readonly fd?: number; readonly writableLength?: number };

/** A stream that loses nothing when the process exits right after a write. */
export function createSink(stderr: Stderr): Writable {
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      writeThrough(stderr, text);
      done();
    },
  });
}

/** Writes `text` at once where there is a descriptor; a reader that has gone is no error. */
export function writeThrough(stderr: Stderr, text: string): void {
  const queued = (stderr.writableLength ?? 0) > 0;
  const rest = typeof stderr.fd === 'number' && !queued ? writeNow(stderr.fd, Buffer.from(text)) : text;
  if (rest.length > 0) stderr.write(rest);
}

/** Returns what a slow reader did not take in time. */
function writeNow(fd: number, bytes: Buffer): Buffer {
  let rest = bytes;
  for (let waitedMs = 0; rest.length > 0 && waitedMs < patienceMs;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return Buffer.alloc(0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      waitedMs += retryMs;
    }
  }
  return rest;
}
