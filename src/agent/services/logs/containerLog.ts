import type { Containers } from '../../adapters/engine/containers.ts';
import { LogFrames, maxPieceBytes } from '../../rules/logs/logFrames.ts';
import { LogLines, type LogLine } from '../../rules/logs/logLines.ts';
import type { Redactor } from '../../secrets/redaction/redactor.ts';

/** Which part of a log is wanted. */
export interface LogWindow {
  /** Pieces at most, the newest; a line longer than 16 KiB is several. */
  tail: number;
  since: Date | null;
  /** Waits for what comes. */
  follow: boolean;
}

type Log = Pick<Containers, 'openLog'>;
type LogQuery = Record<string, string>;

/**
 * The lines of a container's log, redacted, as they come; the end of the signal is the end. Throws RUNTIME_UNAVAILABLE, also for an
 * engine or a logging driver that does not give them.
 */
export async function* logLines(
  containers: Log,
  { id, window, redactor }: { id: string; window: LogWindow; redactor: Redactor },
): AsyncGenerator<LogLine> {
  const { tail, since, follow } = window;
  const range = since === null ? {} : { since: secondsOf(since) };
  const newest = { ...range, tail: String(tail + 1) };
  const { pieces, isLong } = await measure(containers, id, newest);
  const isCut = pieces > tail || isLong || (since !== null && (await hasOlder(containers, id, since)));
  // a log that was whole stays so, whatever has been printed since
  const query = { ...(isCut ? newest : range), ...(follow && { follow: 'true' }) };
  const { body, splitBytes } = await containers.openLog(id, query);
  // of an engine that tells the whole log, whatever tail it is asked for
  const skippedPieces = isCut ? Math.max(0, pieces - tail - 1) : 0;
  const oldPieces = isCut ? pieces - skippedPieces : 0;
  const lines = new LogLines(() => redactor.redactStream(), { skippedPieces, oldPieces, splitBytes });
  const frames = new LogFrames();
  for await (const chunk of body) for (const piece of frames.push(chunk as Buffer)) yield* lines.push(piece);
  for (const piece of frames.end()) yield* lines.push(piece);
  yield* lines.end();
}

/** How many pieces a log has, and whether a line of a terminal may be more than one. */
async function measure(containers: Log, id: string, query: LogQuery): Promise<{ pieces: number; isLong: boolean }> {
  const frames = new LogFrames();
  const found = { pieces: 0, isLong: false };
  const count = (pieces: ReturnType<LogFrames['push']>) => {
    found.pieces += pieces.length;
    found.isLong ||= pieces.some(({ stream, bytes }) => stream === 'terminal' && bytes.length >= maxPieceBytes);
  };
  for await (const chunk of (await containers.openLog(id, query)).body) count(frames.push(chunk as Buffer));
  count(frames.end());
  return found;
}

/**
 * Whether a log may have the beginning of a line before `since`. Docker's own files tell none, as they apply `tail` before
 * `until`: there all pieces of a line have the time of its first, and `since` cuts no line. The journal has a time for each.
 */
async function hasOlder(containers: Log, id: string, since: Date): Promise<boolean> {
  return (await measure(containers, id, { tail: '1', until: secondsOf(since) })).pieces > 0;
}

/** As the engine wants a time: seconds with their fraction. */
function secondsOf(time: Date): string {
  return (time.getTime() / 1000).toFixed(3);
}
