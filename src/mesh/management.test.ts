import { createClock } from '../../fixtures/world/servers/clock.ts';
import { createCa, serverNames } from '../../fixtures/world/servers/crypto/ca.ts';
import {
  type Answer,
  type ReceivedRequest,
  startHttpsServer,
  type TestServer,
} from '../../fixtures/world/servers/http/httpsServer.ts';
import { parseAuthorities } from '../core/certificateAuthorities.ts';
import { type Management, openManagement } from './management.ts';

const ca = createCa();
const base = '/edge/management/v1/';

let server: TestServer;
let management: Management;
/** Identities by id. */
let identities: Map<string, { name: string; token: string }>;
let sessions: Set<string>;
let made: number;
beforeEach(async () => {
  identities = new Map();
  sessions = new Set();
  made = 0;
  const clock = createClock();
  const routeOf = (method: string, path: string) => `${method} ${path.slice(base.length)}`;
  server = await startHttpsServer({ certificate: ca.issue(serverNames), clock, routeOf, answer });
  management = open();
});
afterEach(async () => {
  await management.close();
  await server.stop();
});

function open(changed: object = {}): Management {
  const admin = { username: 'admin', password: 'right-password' };
  const authorities = parseAuthorities(ca.pem)!;
  return openManagement({ controllerUrl: server.url, authorities, ...admin, timeoutMs: 5000, ...changed });
}

/** The part of a controller that is used. */
function answer({ method, headers, body, query }: ReceivedRequest, route: string): Answer {
  const json = JSON.parse(body.toString() || '{}') as Record<string, string>;
  if (route === 'POST authenticate') {
    if (json['password'] !== 'right-password') return refusal(401, 'INVALID_AUTH');
    sessions.add(`s-${++made}`);
    return data({ token: `s-${made}` });
  }
  if (!sessions.has(String(headers['zt-session']))) return refusal(401, 'UNAUTHORIZED');
  const id = route.split('/')[1] ?? '';
  if (route === 'GET identities') return data(namedBy(query.get('filter')!).map((found) => ({ id: found })));
  if (route === 'POST identities') return create(json['name']!);
  if (method === 'GET' && identities.has(id)) return data({ enrollment: { ott: { jwt: identities.get(id)!.token } } });
  if (method === 'DELETE' && identities.delete(id)) return data({});
  if (route === 'DELETE current-api-session') sessions.delete(String(headers['zt-session']));
  return route.endsWith('current-api-session') ? data({}) : refusal(404, 'NOT_FOUND');
}

function create(name: string): Answer {
  if (namedBy(`name="${name}"`).length > 0) {
    return {
      status: 400,
      body: { error: { code: 'COULD_NOT_VALIDATE', cause: { field: 'name', reason: 'duplicate' } } },
    };
  }
  const id = `i-${++made}`;
  identities.set(id, { name, token: `jwt of ${id}` });
  return { status: 201, body: { data: { id } } };
}

function namedBy(filter: string): string[] {
  return [...identities].filter(([, { name }]) => filter === `name="${name}"`).map(([id]) => id);
}

const data = (value: unknown): Answer => ({ status: 200, body: { data: value } });
const refusal = (status: number, code: string): Answer => ({ status, body: { error: { code } } });
const names = () => [...identities.values()].map(({ name }) => name);
const logins = () => server.requests.filter(({ route }) => route === 'POST authenticate').length;

it('replaces the device of a name, and leaves others', async () => {
  await management.replaceDevice('host.one');
  await management.replaceDevice('host.ones');
  const token = await management.replaceDevice('host.one');
  expect(names()).toEqual(['host.ones', 'host.one']);
  expect(token).toBe([...identities.values()].at(-1)!.token);
  await management.deleteIdentity('host.one');
  await management.deleteIdentity('host.one');
  expect(names()).toEqual(['host.ones']);
  expect(logins()).toBe(1);
});

it('tries again if another one took the name, or deleted the identity, and gives up in the end', async () => {
  const taken = { status: 400, body: { error: { code: 'COULD_NOT_VALIDATE', cause: { field: 'name' } } } };
  server.answerNext('POST identities', taken);
  await management.replaceDevice('host.one');
  server.answerNext('POST identities', { status: 201, body: { data: { id: 'gone' } } });
  await management.replaceDevice('host.one');
  expect(names()).toEqual(['host.one']);
  server.answerAlways('POST identities', taken);
  await expect(management.replaceDevice('host.one')).rejects.toMatchObject({ kind: 'unreachable' });
});

it('logs in again when the session is over, once for a call', async () => {
  await management.check();
  sessions.clear();
  await management.check();
  expect(logins()).toBe(2);
  server.answerAlways('GET current-api-session', { status: 401 });
  await expect(management.check()).rejects.toMatchObject({ kind: 'refused' });
  expect(logins()).toBe(3);
});

it('logs in again after a login that failed', async () => {
  server.answerNext('POST authenticate', { status: 503 });
  await expect(management.check()).rejects.toMatchObject({ kind: 'unreachable' });
  await management.check();
});

it('ends its session when it is closed', async () => {
  await management.check();
  await management.close();
  expect(sessions.size).toBe(0);
});

it('uses the path of the controller’s address if it has one', async () => {
  const elsewhere = open({ controllerUrl: `${server.url}/proxy` });
  await expect(elsewhere.check()).rejects.toThrow('answered 401');
  expect(server.requests.map(({ path }) => path)).toEqual(['/proxy/authenticate']);
});

describe('an error', () => {
  it.each<[string, object, string, RegExp]>([
    ['a wrong password', { password: 'canary' }, 'refused', /answered 401 INVALID_AUTH: it does not accept the admin/],
    ['another certificate', { authorities: parseAuthorities(createCa().pem)! }, 'untrusted', /is not trusted/],
  ])('of %s has its kind', async (_what, changed, kind, message) => {
    const error = await open(changed)
      .check()
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ kind, message: expect.stringMatching(message) as string });
    expect(String(error)).not.toContain('canary');
  });

  it.each<[string, string, object]>([
    ['no session token', 'POST authenticate', { status: 200, body: { data: {} } }],
    ['no list', 'POST identities', { status: 201, body: { data: {} } }],
    ['another refusal of the name', 'POST identities', { status: 400, body: { error: { code: 'X' } } }],
    ['an id that is a path', 'POST identities', { status: 201, body: { data: { id: '../x' } } }],
  ])('of %s is one of the protocol', async (_what, route, script) => {
    server.answerNext(route, script);
    await expect(management.replaceDevice('host.one')).rejects.toMatchObject({ kind: 'protocol' });
  });

  it('of an identity without enrolment token is one of the protocol', async () => {
    server.answerNext('GET identities/i-2', { status: 200, body: { data: { enrollment: {} } } });
    await expect(management.replaceDevice('host.one')).rejects.toMatchObject({ kind: 'protocol' });
  });

  it.each(['a"b', 'a b', '', 'ä'])('of the name %j is thrown before any call', async (name) => {
    await expect(management.replaceDevice(name)).rejects.toThrow(RangeError);
    expect(names()).toEqual([]);
  });
});
