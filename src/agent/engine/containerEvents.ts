import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Fault } from '../../../machines/fault.ts';
import { ignoreError } from '../transport/httpRequest.ts';
import { parseContainerEvent, type TimedExit } from './container.rules.ts';
import { type EngineApi, projectFilter } from './engineApi.ts';
import { isEngineRefusal } from './engineAnswer.rules.ts';

/** A subscription to events of containers. */
export interface ContainerEvents {
  /** False once the stream has ended, or if the engine offers no events. */
  isLive: () => boolean;
  /** Returns the ids of containers that changed since the last call. */
  takeChanged: () => string[];
  /** The last exit code of each container, by id. */
  exitCodes: ReadonlyMap<string, number>;
  /** The last exits of each container, oldest first, by id. */
  exits: ReadonlyMap<string, readonly TimedExit[]>;
  /** Resolves when a change can be taken, after `maxMs`, or on abort. */
  waitForNext: (maxMs: number, signal: AbortSignal) => Promise<void>;
  close: () => void;
}

/**
 * Events that change a status, without the separate events of healthcheck probes. Podman sends `died` instead of `die`,
 * and reports the resulting state only from `cleanup` on.
 */
const watchedEvents = [
  'create',
  'start',
  'die',
  'died',
  'cleanup',
  'pause',
  'unpause',
  'destroy',
  'remove',
  'rename',
  'health_status',
];
/** Number of exits that are kept for one container: enough to detect a crash loop. */
const keptExits = 3;
/** Characters. An event contains the labels of its container, so lines may be long. */
const maxLineLength = 2 ** 20;

/** Follows the containers of a project from `sinceMs` on (wall clock, milliseconds), which may be in the past. */
export function createEventSubscriber(project: string, { openStream }: EngineApi) {
  return async (sinceMs: number): Promise<ContainerEvents> => {
    const filters = { type: ['container'], ...projectFilter(project), event: watchedEvents };
    const query = { since: String(sinceMs / 1000), filters: JSON.stringify(filters) };
    return eventsOf(await openStream({ path: '/events', query }).catch(withoutEvents));
  };
}

/** How a container ended last. */
export interface ContainerExit {
  exitCode: number;
  /** The kernel killed one of its processes because memory was exhausted. */
  oomKilled: boolean;
}

/**
 * The last exit of each container of a project since `sinceMs` (wall clock), by id; a container that the engine has
 * started again does not show it. Empty when the engine offers no events.
 */
export function createExitQuery(project: string, { callMs, openStream }: EngineApi) {
  return async (sinceMs: number): Promise<ReadonlyMap<string, ContainerExit>> => {
    const filters = { type: ['container'], ...projectFilter(project), event: ['die', 'died', 'oom'] };
    const range = { since: String(sinceMs / 1000), until: String(Date.now() / 1000) };
    const query = { ...range, filters: JSON.stringify(filters) };
    const body = await openStream({ path: '/events', query }).catch(withoutEvents);
    const exits = new Map<string, ContainerExit>();
    if (body === null) return exits;
    const killed = new Set<string>();
    readLines(body, (line) => {
      const event = parseContainerEvent(line);
      if (event === null) return;
      if (event.exitCode === null) killed.add(event.id);
      else exits.set(event.id, { exitCode: event.exitCode, oomKilled: killed.delete(event.id) });
    });
    await finished(addAbortSignal(AbortSignal.timeout(callMs), body)).catch(ignoreError);
    return exits;
  };
}

/** An engine that refuses events is queried periodically instead. */
function withoutEvents(error: unknown): null {
  if (error instanceof Fault && isEngineRefusal(error)) return null;
  throw error;
}

function eventsOf(body: IncomingMessage | null): ContainerEvents {
  const changed = new Set<string>();
  const exitCodes = new Map<string, number>();
  const exits = new Map<string, TimedExit[]>();
  let wake: () => void = ignoreError;
  const recordEvent = (line: string) => {
    const change = parseContainerEvent(line);
    if (change === null) return;
    changed.add(change.id);
    if (change.exitCode !== null) {
      const { id, exitCode: code, atMs = Date.now() } = change;
      exitCodes.set(id, code);
      exits.set(id, [...(exits.get(id) ?? []), { atMs, code }].slice(-keptExits));
    }
    wake();
  };
  if (body !== null) readLines(body, recordEvent);
  body?.on('error', ignoreError).on('close', () => wake());
  return {
    isLive: () => body !== null && !body.destroyed,
    takeChanged: () => {
      const ids = [...changed];
      changed.clear();
      return ids;
    },
    exitCodes,
    exits,
    waitForNext: async (maxMs, signal) => {
      if (changed.size > 0 || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, Math.max(0, maxMs));
      signal.addEventListener('abort', wake);
      await promise;
      signal.removeEventListener('abort', wake);
      clearTimeout(timer);
    },
    close: () => body?.destroy(),
  };
}

/** Calls `onLine` for each complete line; destroys a stream whose line is too long. */
function readLines(body: IncomingMessage, onLine: (line: string) => void): void {
  let rest = '';
  body.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(onLine);
    if (rest.length > maxLineLength) body.destroy();
  });
}
