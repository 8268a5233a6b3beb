import type { IncomingMessage } from 'node:http';
import { failedFault } from '../../../../machines/fault.ts';
import { parseContainerLog, type LogExcerpt } from '../../rules/health/containerLog.ts';
import type { EngineApi } from './engineApi.ts';

const LOG_ENTRIES = 20;
/** One more than is shown, to detect whether there are more. */
const LOG_OPTIONS = { stdout: true, stderr: true, tail: LOG_ENTRIES + 1 } as const;
/** A line that Podman truncated has no mark, and half a secret could not be redacted. */
const PODMAN_LOG: LogExcerpt = {
  text: 'Podman cuts lines of its log without a mark: see `podman logs`',
  truncated: false,
};

/** The logs of containers. */
export function createLogQueries({ withDocker, getJson, openStream }: EngineApi) {
  const isPodman = async () => (await getJson({ path: '/version' })).isPodman;
  return {
    /** The last lines that a container wrote, unredacted. */
    logs: (id: string): Promise<LogExcerpt[]> =>
      withDocker(async (docker, options) => {
        if (await isPodman()) return [PODMAN_LOG];
        return parseContainerLog(await docker.getContainer(id).logs({ ...options, ...LOG_OPTIONS }), LOG_ENTRIES);
      }),

    /** The log of a container as the engine keeps it, unredacted, for the query of the engine's API; with `follow` without an end. */
    openLog: async (id: string, query: Record<string, string>): Promise<IncomingMessage> => {
      if (await isPodman())
        throw failedFault('RUNTIME_UNAVAILABLE', 'Podman cuts long lines without a mark, so half a secret would show');
      const output = { stdout: 'true', stderr: 'true', ...query };
      const body = await openStream({ path: `/containers/${id}/logs`, query: output });
      if (body === null) throw failedFault('RUNTIME_UNAVAILABLE', 'the engine does not give the log of this container');
      return body;
    },
  };
}
