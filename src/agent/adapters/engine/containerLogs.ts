import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { logExcerptsOf, type LogExcerpt } from '../../rules/health/containerLog.ts';
import { maxPieceBytes } from '../../rules/logs/logFrames.ts';
import type { EngineApi } from './engineApi.ts';
import { lastPiecesOf } from './lastPieces.ts';

const maxPieces = 20;
const longLog: LogExcerpt = { text: 'the engine takes too long to tell this log', truncated: false };

/** A log as the engine tells it. */
export interface ContainerLog {
  body: IncomingMessage;
  /** Bytes of a piece after which the rest of its line may come in another one. */
  splitBytes: number;
}

/** The logs of containers. */
export function createLogQueries({ callMs, getJson, openStream }: EngineApi) {
  /**
   * The log of a container as the engine keeps it, unredacted, for the query of the engine's API; with `follow` without an end. Of
   * Podman it is the whole log: its `tail` loses beginnings of lines. Podman keeps each write of a container as a piece.
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
