import type { IncomingMessage } from 'node:http';
import { addAbortSignal, type Readable } from 'node:stream';
import { Fault } from '../../../machines/fault.ts';
import type { ServiceProblem } from '../../../machines/types.ts';
import { causePrinted, causeSaid, type FoundCause } from '../../core/failureCauses.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { InspectedContainer } from './container.rules.ts';
import type { EngineApi } from './engineApi.ts';
import { type LogExcerpt, logExcerptsOf, LogFrames, type LogPiece, maxPieceBytes } from './logs.rules.ts';

/** Reads logs of containers and redacts them. */
export interface LogReader {
  readonly containers: {
    logs: (id: string) => Promise<LogExcerpt[]>;
    inspect: (container: { id: string }) => Promise<InspectedContainer | null>;
  };
  readonly vault: Vault;
}

const maxPieces = 20;
const longLog: LogExcerpt = { text: 'the engine takes too long to return this log', truncated: false };

/** A log as the engine returns it. */
interface ContainerLog {
  body: IncomingMessage;
  /** Bytes of a piece after which the rest of its line may come in another one. */
  splitBytes: number;
}

/** The logs of containers. */
export function createLogQueries({ callMs, getJson, openStream }: EngineApi) {
  /**
   * The log of a container as the engine keeps it, unredacted, for the engine's log endpoint; endless with `follow`.
   * From Podman it is always the whole log, because its `tail` loses beginnings of lines. Podman keeps each write of a
   * container as a piece.
   */
  const openLog = async (id: string, { tail, ...range }: Record<string, string>): Promise<ContainerLog> => {
    const { isPodman } = await getJson({ path: '/version' });
    const query = { stdout: 'true', stderr: 'true', ...range, ...(tail !== undefined && !isPodman && { tail }) };
    const body = await openStream({ path: `/containers/${id}/logs`, query });
    return { body, splitBytes: isPodman ? 1 : maxPieceBytes };
  };
  return {
    openLog,

    /** The last lines that a container wrote, unredacted. */
    logs: async (id: string): Promise<LogExcerpt[]> => {
      // one more than is shown, to detect whether there are more
      const { body, splitBytes } = await openLog(id, { tail: String(maxPieces + 1) });
      const late = AbortSignal.timeout(callMs);
      try {
        const pieces = await lastPiecesOf(addAbortSignal(late, body), maxPieces + 1);
        return logExcerptsOf(pieces, { maxPieces, splitBytes });
      } catch (error) {
        if (late.aborted) return [longLog];
        throw error;
      }
    },
  };
}

/** The last pieces of a log; only this many are kept in memory. */
export async function lastPiecesOf(body: Readable, count: number): Promise<LogPiece[]> {
  const frames = new LogFrames();
  let last: LogPiece[] = [];
  for await (const chunk of body) last = [...last, ...frames.push(chunk as Buffer)].slice(-count);
  return [...last, ...frames.end()].slice(-count);
}

/** Maximum length of the tail in characters. */
const TAIL_CHARS = 8 * 1024;

/** The text of excerpts without secret values, including a partial value at the end of a cut line. */
export function redactExcerpts({ vault }: { vault: Vault }, excerpts: readonly LogExcerpt[]): string[] {
  const redactor = vault.redactor();
  return excerpts.map(({ text, truncated }) => (truncated ? `${redactor.redactTruncated(text)}...` : text));
}

/** The last log lines of the failed containers and of their health probes; null if there are no lines. */
export async function tailOfProblems(
  { containers, vault }: LogReader,
  problems: readonly ServiceProblem[],
): Promise<string | null> {
  const ids = [...new Set(problems.filter(({ isFailure }) => isFailure).flatMap((problem) => problem.containers))];
  if (ids.length === 0) return null;
  const logs = await Promise.all(ids.map((id) => readEnd({ containers, vault }, id).catch(() => null)));
  return (
    logTailOf(
      logs.filter((log) => log !== null),
      { vault },
    ) || null
  );
}

async function readEnd({ containers, vault }: LogReader, id: string) {
  const container = await containers.inspect({ id });
  return container && logEndOf({ containers, vault }, container);
}

/** The last lines of a container's log, and the distinct outputs of its last health probes, redacted; and why it did not start. */
async function logEndOf(
  { containers, vault }: LogReader,
  { id, name, healthLog, startError }: InspectedContainer,
): Promise<{ name: string; logs: string[]; lines: string[] }> {
  const logs = redactExcerpts({ vault }, await containers.logs(id).catch(unreadableLog));
  const probes = redactExcerpts({ vault }, healthLog).map((output) => `health: ${output}`);
  const engine = startError === '' ? [] : [`engine: ${startError}`];
  return { name, logs, lines: [...logs, ...new Set(probes), ...engine] };
}

/** The last log lines of containers as one tail, and the causes that they indicate. */
export async function lastWordsOf(
  deps: LogReader,
  failed: readonly InspectedContainer[],
): Promise<{ tail: string; cause: FoundCause | null }> {
  const ends = await Promise.all(failed.map((container) => logEndOf(deps, container)));
  const errors = failed.map(({ startError }) => startError).join('\n');
  const printed = ends.flatMap(({ logs }) => logs).join('\n');
  return { tail: logTailOf(ends, deps), cause: causeSaid(errors) ?? causePrinted(printed) };
}

/** Text in a report if the engine did not return a log. */
export function unreadableLog(error: unknown): LogExcerpt[] {
  const why = error instanceof Fault ? error.message : 'the engine sent something else';
  return [{ text: `its log cannot be read: ${why}`, truncated: false }];
}

/** Joins logs under their names for a report, redacted; each gets an equal share of the length. */
export function logTailOf(
  logs: readonly { name: string; lines: readonly string[] }[],
  { vault }: { vault: Vault },
): string {
  const redactor = vault.redactor();
  const share = Math.floor(TAIL_CHARS / Math.max(1, logs.length));
  return logs
    .map(({ name, lines }) => {
      const text = redactor.redact(lines.map((line) => line.trim()).join('\n'));
      const head = `--- ${name}\n`;
      return `${head}${text.slice(-Math.max(1, share - head.length - 1))}`.trim();
    })
    .join('\n')
    .slice(-TAIL_CHARS);
}

/** Two redacted tails as one; the first gets a quarter of the length, unless the second needs less. */
export function joinTails(first: string | null, second: string): string {
  const head = (first ?? '').trimEnd();
  const room = Math.max(TAIL_CHARS / 4, TAIL_CHARS - second.length - 1);
  const parts = [head.slice(-room), second].filter((part) => part !== '');
  return parts.join('\n').slice(-TAIL_CHARS);
}
