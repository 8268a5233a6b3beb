import { listAudit } from '../core/audit.ts';
import { type Change, type ChangeFeed, topics, visibleTopics } from '../core/changeFeed.ts';
import type { Operator, Permission } from '../core/permission.rules.ts';
import { DEFAULT_LIMIT } from '../../api/commonSchemas.ts';
import { answer, eventStream, noContent, routesFor } from '../http/operatorRoute.ts';
import { envsOf, findOperatorById, findSessionById } from '../store/people.ts';
import { personOf, type SessionDependencies, viewCaller } from './authenticate.ts';
import { createOperator, listOperators, revokeOperator } from './people.ts';
import {
  AuditLog,
  AuditQuery,
  Caller,
  CreatedOperator,
  NewOperator,
  OperatorList,
  OperatorParams,
  SessionList,
  SessionParams,
} from './peopleSchemas.ts';
import { endSession, listSessions } from './sessions.ts';

const route = routesFor<SessionDependencies>();

/** Routes of operators and their tokens. */
export const operatorAccountRoutes = [
  route({
    method: 'GET',
    url: '/v1/whoami',
    role: 'viewer',
    summary: 'Show the owner and permissions of the token',
    responses: { 200: Caller },
    act: null,
    handle: async (_deps, { operator }) => answer(200, viewCaller(operator)),
  }),
  route({
    method: 'GET',
    url: '/v1/operators',
    role: 'admin',
    everyEnv: true,
    summary: 'List the operators',
    responses: { 200: OperatorList },
    act: 'operator.list',
    handle: async (deps) => answer(200, { operators: await listOperators(deps) }),
  }),
  route({
    method: 'POST',
    url: '/v1/operators',
    role: 'admin',
    everyEnv: true,
    summary: 'Create an operator; the token is shown once',
    body: NewOperator,
    responses: { 201: CreatedOperator },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'OPERATOR_EXISTS' },
    act: 'operator.create',
    target: ({ body }) => body.name,
    noStore: true,
    handle: async (deps, { caller, body }) => answer(201, await createOperator(deps, { caller, fields: body })),
  }),
  route({
    method: 'DELETE',
    url: '/v1/operators/:id',
    role: 'admin',
    everyEnv: true,
    summary: 'Revoke the token of an operator, and end its sessions',
    params: OperatorParams,
    responses: { 204: null },
    errors: { 404: 'OPERATOR_NOT_FOUND', 409: 'LAST_ADMIN' },
    act: 'operator.revoke',
    handle: async (deps, { caller, params }) => {
      await revokeOperator(deps, { caller, id: params.id });
      return noContent;
    },
  }),
];

/** Routes of the sessions of signed-in people. */
export const sessionRoutes = [
  route({
    method: 'GET',
    url: '/v1/sessions',
    role: 'viewer',
    summary: "List the caller's sessions; administrators of all environments see all sessions",
    responses: { 200: SessionList },
    act: null,
    handle: async (deps, { operator }) => answer(200, { sessions: await listSessions(deps, operator) }),
  }),
  route({
    method: 'DELETE',
    url: '/v1/sessions/:id',
    role: 'viewer',
    summary: "End one of the caller's sessions; administrators of all environments may end any session",
    params: SessionParams,
    responses: { 204: null },
    errors: { 404: 'SESSION_NOT_FOUND' },
    act: 'session.end',
    handle: async (deps, { operator, caller, params }) => {
      await endSession(deps, { operator, caller, id: params.id });
      return noContent;
    },
  }),
];

/** Routes of the audit log. */
export const auditRoutes = [
  route({
    method: 'GET',
    url: '/v1/audit',
    role: 'admin',
    summary: 'List the audit log of the environments that the token permits, newest first',
    query: AuditQuery,
    responses: { 200: AuditLog },
    act: 'audit.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query }) =>
      answer(200, await listAudit(deps, { operator, ...query, limit: query.limit ?? DEFAULT_LIMIT })),
  }),
];

/** Dependencies of event streams. */
interface EventDependencies extends SessionDependencies {
  readonly changes: ChangeFeed;
}

/** Routes of event streams. */
export const eventRoutes = [
  routesFor<EventDependencies>()({
    method: 'GET',
    url: '/v1/events',
    role: 'viewer',
    summary: 'Follow what changes, by server-sent events',
    description: [
      'Sends at most one event a second: `event: change`, `data: {"topics": ["backends"]}`, with the topics that changed since',
      `the previous event: ${topics.join(', ')}. An event contains no values: read its topics again. After each connection, read`,
      'everything again. Topics of environments that the caller may not see are left out; a check-in or report of any host is',
      'announced to everyone. Without changes, `event: alive` is sent every 4 seconds. The stream ends with the token, the session or the service.',
    ].join(' '),
    responses: { 200: eventStream },
    act: 'event.follow',
    handle: async (deps, { operator, signal }) => answer(200, await openChangeStream(deps, { operator, signal })),
  }),
];

/** Milliseconds between two heartbeats of the stream; the console reports silence after 10 s. */
const HEARTBEAT_MS = 4000;

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
    yield topics.length === 0 ? 'event: alive\ndata: {}\n\n' : `event: change\ndata: ${JSON.stringify({ topics })}\n\n`;
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
