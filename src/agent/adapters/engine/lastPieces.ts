import type { Readable } from 'node:stream';
import { LogFrames, type LogPiece } from '../../rules/logs/logFrames.ts';

/** The last pieces of a log, of which no more than these are kept in memory. */
export async function lastPiecesOf(body: Readable, count: number): Promise<LogPiece[]> {
  const frames = new LogFrames();
  let last: LogPiece[] = [];
  for await (const chunk of body) last = [...last, ...frames.push(chunk as Buffer)].slice(-count);
  return [...last, ...frames.end()].slice(-count);
}
