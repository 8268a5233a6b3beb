import { startCertifiedProvider } from '../../../fixtures/world/servers/oidc/certifiedProvider.ts';
import { oidcClient } from '../../../fixtures/world/servers/oidc/oidcClient.ts';
import type { Browser } from '../../../fixtures/world/tenancy/browser.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { sceneCa, startSignInService, tenancy } from '../../../fixtures/world/tenancy/signInScene.ts';
import { sessionCookie } from '../http/responses.ts';

let provider: Awaited<ReturnType<typeof startCertifiedProvider>>;
let scene: Awaited<ReturnType<typeof startSignInService>>;
let browser: Browser;
let now = Date.now();
beforeAll(async () => {
  const authority = sceneCa();
  provider = await startCertifiedProvider(authority.certificate, oidcClient);
  scene = await startSignInService(authority, provider.issuer, { clock: () => now });
});
afterAll(async () => {
  await scene.service.stop();
  await provider.stop();
});
beforeEach(() => {
  // Skip the window of the sign-in limit per person.
  now += 61_000;
  provider.account.groups = ['ops', 'unknown here'];
  browser = scene.openBrowser();
});

const signIn = (by = browser) => by.follow(`${tenancy}/console/sign-in?return_to=/console/`);
const call = async (
  route: string,
  { by = browser, headers = {} }: { by?: Browser; headers?: Record<string, string> } = {},
) => {
  const [method = '', path = ''] = route.split(' ');
  const answer = await by.open(`${tenancy}/v1/${path}`, { method, headers });
  return { ...answer, json: (answer.body === '' ? null : JSON.parse(answer.body)) as Record<string, unknown> };
};
const newestActs = async (limit: number) => (await call(`GET audit?limit=${limit}`)).json['entries'];

it('signs a person in at a certified provider, and shows their name and permissions', async () => {
  const page = await signIn();
  expect([page.status, page.url]).toEqual([200, `${tenancy}/console/`]);
  expect(page.body).toContain('oidc:ann@example.org');
  expect((await call('GET whoami')).json).toEqual({
    ...{ name: 'oidc:ann@example.org', role: 'admin', envs: null, permissions: [{ role: 'admin', envs: null }] },
  });
  expect(await newestActs(1)).toMatchObject([{ actor: 'oidc:ann@example.org', act: 'session.create', result: 'ok' }]);
});

it('derives the permissions of a session from the groups, per environment', async () => {
  provider.account.groups = ['eu', 'all'];
  await signIn();
  expect((await call('GET whoami')).json).toMatchObject({ role: 'viewer', envs: null });
  expect((await call('POST envs/eu-1/sequence')).json).toMatchObject({ error: { code: 'ENV_NOT_FOUND' } });
  expect((await call('POST envs/us-1/sequence')).json).toMatchObject({ error: { code: 'FORBIDDEN' } });
});

it('stores only the hash of the cookie, and no readable token of the provider, also not in the log', async () => {
  await signIn();
  const secret = browser.jar(tenancy).get(sessionCookie)!;
  const rows = await scene.service.deps.store.selectFrom('sessions').selectAll().execute();
  expect(JSON.stringify([rows, scene.service.log])).not.toContain(secret);
  expect(rows.at(-1)!.sealed_refresh_token).toMatch(/^[\w+/=]+$/);
  expect(secret).toMatch(/^[\w-]{43}$/);
});

it('signs out of the service by its own page only, and offers to sign out of the provider', async () => {
  await signIn();
  const kept = new Map(browser.jar(tenancy));
  const foreign = { method: 'POST', headers: { 'sec-fetch-site': 'same-site' } };
  expect((await browser.open(`${tenancy}/console/sign-out`, foreign)).status).toBe(403);
  expect((await call('GET whoami')).status).toBe(200);
  const answer = await browser.open(`${tenancy}/console/sign-out`, { method: 'POST' });
  expect([answer.status, answer.location]).toEqual([303, `${tenancy}/console/signed-out`]);
  expect([...browser.jar(tenancy)]).toEqual([]);
  expect((await browser.open(answer.location)).body).toContain(
    `href="${provider.issuer}/session/end?post_logout_redirect_uri=`,
  );
  for (const [name, value] of kept) browser.jar(tenancy).set(name, value);
  expect((await call('GET whoami')).status).toBe(401);
});

it('lets people list and end their own sessions, and administrators all sessions', async () => {
  await signIn();
  const other = scene.openBrowser();
  provider.account.sub = 'u-2';
  provider.account.groups = ['all'];
  await signIn(other);
  provider.account.sub = 'u-1';
  const own = (await call('GET sessions', { by: other })).json['sessions'] as Record<string, string>[];
  expect(own).toMatchObject([{ subject: 'u-2', role: 'viewer', current: true }]);
  const all = (await call('GET sessions')).json['sessions'] as Record<string, string>[];
  const admins = all.find(({ current }) => Boolean(current))!;
  expect((await call(`DELETE sessions/${admins['id']!}`, { by: other })).json).toMatchObject({
    error: { code: 'SESSION_NOT_FOUND' },
  });
  expect((await call(`DELETE sessions/${own[0]!['id']!}`)).status).toBe(204);
  expect((await call('GET whoami', { by: other })).status).toBe(401);
  expect(await newestActs(1)).toMatchObject([{ actor: 'oidc:ann@example.org', act: 'session.end', result: 'ok' }]);
});

it('ends a session when it is idle, and at the latest at the end of its lifetime', async () => {
  await signIn();
  now += 3601 * 1000;
  expect((await call('GET whoami')).status).toBe(401);
});

it('streams events until the session ends, without extending it', async () => {
  await signIn();
  const { store } = scene.service.deps;
  const stream = browser.open(`${tenancy}/v1/events`);
  const busy = 'deployd_http_busy{lane="stream"} 1';
  while (!(await browser.open(`${tenancy}/metrics`)).body.includes(busy));
  now += 3601 * 1000;
  await store.updateTable('sessions').set({ checked_at: now }).execute();
  await addOperator(scene.service);
  const { status, body } = await stream;
  expect([status, body]).toEqual([200, ': changes are announced from now on\n\n']);
});

it('checks groups at the interval: permissions change, and without any group the session ends', async () => {
  await signIn();
  provider.account.groups = ['all'];
  expect((await call('GET whoami')).json).toMatchObject({ role: 'admin' });
  now += 901 * 1000;
  expect((await call('GET whoami')).json).toMatchObject({ role: 'viewer' });
  provider.account.groups = [];
  now += 901 * 1000;
  expect((await call('GET whoami')).status).toBe(401);
  const { store } = scene.service.deps;
  const [entry] = await store.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(1).execute();
  expect(entry).toMatchObject({ actor: 'deployd-tenancy', act: 'session.end', result: 'NO_ROLE' });
});

it('creates a new session at sign-in, whatever cookie the browser had', async () => {
  browser.jar(tenancy).set(sessionCookie, 'f'.repeat(43));
  await signIn();
  expect(browser.jar(tenancy).get(sessionCookie)).not.toBe('f'.repeat(43));
});

it("ends the browser's previous session at sign-in", async () => {
  await signIn();
  const before = browser.jar(tenancy).get(sessionCookie)!;
  await signIn();
  const other = scene.openBrowser();
  other.jar(tenancy).set(sessionCookie, before);
  expect((await call('GET whoami', { by: other })).status).toBe(401);
  expect((await call('GET whoami')).status).toBe(200);
});

describe('a call with a session cookie', () => {
  it.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a page of another host of the same site', { 'sec-fetch-site': 'same-site' }, 403],
    ['the address bar', { 'sec-fetch-site': 'none' }, 403],
    ['a page of the service', { 'sec-fetch-site': 'same-origin' }, 404],
  ])('that changes something, from %s', async (_from, headers, status) => {
    await signIn();
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    expect((await call(`DELETE sessions/${id}`, { headers })).status).toBe(status);
    expect((await call(`GET backends/${id}/agent/install`, { headers })).status).toBe(status);
    expect((await call('GET envs', { headers })).status).toBe(200);
  });

  it('uses the bearer token instead of any cookie', async () => {
    await signIn();
    const headers = { authorization: `Bearer dpo_${'a'.repeat(43)}` };
    expect((await call('GET whoami', { headers })).status).toBe(401);
  });
});

it('every page has a policy without inline scripts, and is not framed, sniffed or cached', async () => {
  for (const path of ['', 'envs/eu-1', 'signed-out', 'callback?code=x', 'console.css', 'console.js?v=another']) {
    const { headers } = await browser.open(`${tenancy}/console/${path}`);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
    );
    expect(headers['content-security-policy']).not.toContain('unsafe');
  }
});

it('links script and style by version on pages of signed-in people, so that browsers cache them', async () => {
  await signIn();
  const { body } = await browser.open(`${tenancy}/console/envs/eu-1`);
  const assets = [...body.matchAll(/(?:href|src)="(\/console\/console\.[^"]+)"/g)].map(([, path]) => path);
  expect(assets).toEqual([
    expect.stringMatching(/^\/console\/console\.css\?v=[0-9a-f]{16}$/),
    expect.stringMatching(/^\/console\/console\.js\?v=[0-9a-f]{16}$/),
  ]);
  for (const path of assets) {
    const { status, headers } = await browser.open(`${tenancy}${path!}`);
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
  }
});

it('asks for a sign-in if there is no session, then returns to the page', async () => {
  const { status, body } = await browser.open(`${tenancy}/console/envs/eu-1?q=a`);
  expect([status, body]).toEqual([401, expect.stringContaining('return_to=%2Fconsole%2Fenvs%2Feu-1%3Fq%3Da"')]);
});
