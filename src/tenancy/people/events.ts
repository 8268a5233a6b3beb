import { type Change, type ChangeFeed, topics, visibleTopics } from '../core/changeFeed.ts';
import type { Operator, Permission } from '../core/permission.rules.ts';
import { answer, eventStream, routesFor } from '../http/operatorRoute.ts';
import { envsOf, findOperatorById, findSessionById } from '../store/people.ts';
import { personOf, type SessionDependencies } from './authenticate.ts';

const route = routesFor<EventDependencies>();

/** Dependencies of event streams. */
interface EventDependencies extends SessionDependencies {
  readonly changes: ChangeFeed;
}

/** Routes of event streams. */
export const eventRoutes = [
  route({
    method: 'GET',
    url: '/v1/events',
    role: 'viewer',
    summary: 'Follow what changes, by server-sent events',
    description: [
      'Sends at most one event a second: `event: change`, `data: {"topics": ["backends"]}`, with the topics that changed since',
      `the previous event: ${topics.join(', ')}. An event contains no values: read its topics again. After each connection, read`,
      'everything again. Topics of environments that the caller may not see are left out; a check-in or report of any host is',
      'announced to everyone. A comment is sent every 15 seconds. The stream ends with the token, the session or the service.',
    ].join(' '),
    responses: { 200: eventStream },
    act: 'event.follow',
    handle: async (deps, { operator, signal }) => answer(200, await openChangeStream(deps, { operator, signal })),
  }),
];

/** Milliseconds between two heartbeats of the stream. */
const HEARTBEAT_MS = 15_000;

/**
 * Streams changes as server-sent events: at most one event a second, with the topics that the caller may see, and
 * comments in between. Ends with the caller's token or session, with the signal, and with the service. Throws if the
 * store cannot be read.
 */
async function openChangeStream(
  deps: EventDependencies,
  { operator, signal }: { operator: Operator; signal: AbortSignal },
): Promise<AsyncIterable<string>> {
  const end = AbortSignal.any([signal, deps.changes.ended]);
  const pending = new PendingChanges(end);
  const stop = await deps.changes.listen((changes) => pending.add(changes));
  // The stream may never be read.
  if (end.aborted) stop();
  else end.addEventListener('abort', stop, { once: true });
  return streamOf(deps, operator, pending);
}

async function* streamOf(deps: EventDependencies, operator: Operator, pending: PendingChanges): AsyncGenerator<string> {
  yield ': changes are announced from now on\n\n';
  while (await pending.wait()) {
    const permissions = await currentPermissions(deps, operator);
    if (permissions === null) return;
    const topics = visibleTopics(permissions, pending.take());
    yield topics.length === 0 ? ':\n\n' : `event: change\ndata: ${JSON.stringify({ topics })}\n\n`;
  }
}

/** Changes not yet sent to a caller, without duplicates however slowly it reads. */
class PendingChanges {
  readonly #signal: AbortSignal;
  readonly #changes = new Map<string, Change>();
  #wake = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) this.#changes.set(JSON.stringify(change), change);
    this.#wake();
  }

  take(): Change[] {
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    return changes;
  }

  /** Waits for changes or for the next heartbeat; returns false at the end of the stream. */
  async wait(): Promise<boolean> {
    if (this.#changes.size === 0 && !this.#signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, HEARTBEAT_MS);
      this.#wake = resolve;
      await promise;
      clearTimeout(timer);
    }
    return !this.#signal.aborted;
  }
}

/**
 * The current permissions of a caller during a long call; null once its token or session is over. Does not count as a
 * use of either. Throws like `authenticateSession`.
 */
async function currentPermissions(
  deps: EventDependencies,
  { id, session }: Operator,
): Promise<readonly Permission[] | null> {
  if (session === undefined) {
    const row = await findOperatorById(deps.store, id, deps.clock());
    return row && [{ role: row.role, envs: envsOf(row.envs) }];
  }
  const person = await personOf(deps, await findSessionById(deps.store, id));
  return person && person.permissions;
}
