import type { IncomingMessage } from 'node:http';
import { changeIn } from '../../rules/health/container.ts';
import type { Calls } from './engineCalls.ts';
import { ignoreOnceRead } from '../http/opener.ts';

/** What the engine tells of containers while it happens. */
export interface Events {
  /** False once the engine tells nothing more, or where it tells nothing at all. */
  isLive: () => boolean;
  /** The ids of those that changed since this was asked last. */
  take: () => string[];
  /** With which code each ended last, by id. */
  exits: ReadonlyMap<string, number>;
  /** Resolves once there is something to take, after `mostMs`, or when the signal fires. */
  next: (mostMs: number, signal: AbortSignal) => Promise<void>;
  close: () => void;
}

/** What changes how a container is; a healthcheck's probes are events of their own. Podman has its own word for `die`. */
const event = ['create', 'start', 'die', 'died', 'pause', 'unpause', 'destroy', 'remove', 'rename', 'health_status'];
/** An event tells the labels of its container; no line is longer. */
const mostCharacters = 2 ** 20;

/** Follows the containers of a project from `sinceMs` on (of the wall clock), which may have been before. */
export function createEvents(project: string, onInspect: () => void, { stream }: Calls) {
  return async (sinceMs: number): Promise<Events> => {
    onInspect();
    const filters = { type: ['container'], label: [`com.docker.compose.project=${project}`], event };
    const query = { since: String(sinceMs / 1000), filters: JSON.stringify(filters) };
    return eventsIn(await stream({ path: '/events', query }));
  };
}

function eventsIn(body: IncomingMessage | null): Events {
  const changed = new Set<string>();
  const exits = new Map<string, number>();
  let wake: () => void = ignoreOnceRead;
  const note = (line: string) => {
    const change = changeIn(line);
    if (change === null) return;
    changed.add(change.id);
    if (change.exitCode !== null) exits.set(change.id, change.exitCode);
    wake();
  };
  if (body !== null) readLines(body, note);
  body?.on('error', ignoreOnceRead).on('close', () => wake());
  return {
    isLive: () => body !== null && !body.destroyed,
    take: () => {
      const ids = [...changed];
      changed.clear();
      return ids;
    },
    exits,
    next: async (mostMs, signal) => {
      if (changed.size > 0 || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, Math.max(0, mostMs));
      signal.addEventListener('abort', wake);
      await promise;
      signal.removeEventListener('abort', wake);
      clearTimeout(timer);
    },
    close: () => body?.destroy(),
  };
}

/** Tells each whole line; a stream with a line that nobody sent is given up. */
function readLines(body: IncomingMessage, tell: (line: string) => void): void {
  let rest = '';
  body.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(tell);
    if (rest.length > mostCharacters) body.destroy();
  });
}
