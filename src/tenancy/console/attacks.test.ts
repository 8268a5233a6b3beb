import { createHash, createHmac } from 'node:crypto';
import { type ScriptedProvider, startScriptedProvider } from '../../../fixtures/world/servers/oidc/scriptedProvider.ts';
import { oidcClient } from '../../../fixtures/world/servers/oidc/oidcClient.ts';
import type { Browser } from '../../../fixtures/world/tenancy/browser.ts';
import { sceneCa, startSignInService, tenancy } from '../../../fixtures/world/tenancy/signInScene.ts';
import { sessionCookie, signInCookie } from '../http/responses.ts';

let provider: ScriptedProvider;
let scene: Awaited<ReturnType<typeof startSignInService>>;
let browser: Browser;
let now = Date.now();
const authority = sceneCa();
beforeAll(async () => {
  provider = await startScriptedProvider(authority.certificate);
  scene = await startSignInService(authority, provider.server.url, { clock: () => now });
});
afterAll(async () => {
  await scene.service.stop();
  await provider.server.stop();
});
beforeEach(() => {
  // Skip the window of the sign-in limits.
  now += 120_000;
  provider.reset();
  provider.server.requests.splice(0);
  browser = scene.openBrowser();
});

/**
 * Starts a sign-in and returns the parameters that the provider gets. The ID token has the right nonce unless a test
 * sets another.
 */
async function begin(by = browser, wish = '') {
  const { location } = await by.open(`${tenancy}/console/sign-in${wish}`);
  const { searchParams } = new URL(location);
  provider.script.claims = { nonce: searchParams.get('nonce'), ...provider.script.claims };
  return searchParams;
}
const come = (query: Record<string, string>, by = browser) =>
  by.open(`${tenancy}/console/callback?${new URLSearchParams(query).toString()}`, {
    headers: { 'sec-fetch-site': 'cross-site' },
  });
const callback = async (fields: Record<string, string> = {}) => {
  const state = (await begin()).get('state')!;
  return come({ code: 'c-1', state, iss: provider.server.url, ...fields });
};
const tokenCalls = () => provider.server.requests.filter(({ route }) => route === 'token').length;
const hasSession = (by = browser) => by.jar(tenancy).has(sessionCookie);
const isRefused = ({ status, body }: { status: number; body: string }, expected: number, code: string) => {
  expect([status, body]).toEqual([expected, expect.stringContaining(code)]);
  expect(hasSession()).toBe(false);
};

it('requests a code with PKCE (S256), a state and a nonce', async () => {
  const asked = await begin();
  expect(Object.fromEntries(asked)).toMatchObject({
    ...{ response_type: 'code', code_challenge_method: 'S256', redirect_uri: oidcClient.redirect_uris[0] },
    ...{ state: expect.stringMatching(/^[\w-]{43}$/) as string, nonce: expect.stringMatching(/^[\w-]{43}$/) as string },
  });
  expect((await come({ code: 'c-1', state: asked.get('state')!, iss: provider.server.url })).status).toBe(303);
  expect(hasSession()).toBe(true);
});

describe('refuses a callback', () => {
  it('of another browser (login CSRF), without exchanging the code', async () => {
    const state = (await begin(scene.openBrowser())).get('state')!;
    isRefused(await come({ code: 'attackers', state, iss: provider.server.url }), 400, 'SIGN_IN_EXPIRED');
    expect(tokenCalls()).toBe(0);
  });

  it("with another state than the browser's", async () => {
    isRefused(await callback({ state: 'attackers' }), 400, 'SIGN_IN_EXPIRED');
    expect(tokenCalls()).toBe(0);
  });

  it('of a sign-in that the browser has replaced with a newer one', async () => {
    const state = (await begin()).get('state')!;
    await begin();
    isRefused(await come({ code: 'c-1', state, iss: provider.server.url }), 400, 'SIGN_IN_EXPIRED');
  });

  it('that is repeated', async () => {
    const state = (await begin()).get('state')!;
    const query = { code: 'c-1', state, iss: provider.server.url };
    expect((await come(query)).status).toBe(303);
    browser.jar(tenancy).delete(sessionCookie);
    isRefused(await come(query), 400, 'SIGN_IN_EXPIRED');
    expect(tokenCalls()).toBe(1);
  });

  it('after ten minutes', async () => {
    const state = (await begin()).get('state')!;
    now += 600_000;
    isRefused(await come({ code: 'c-1', state, iss: provider.server.url }), 400, 'SIGN_IN_EXPIRED');
  });

  it.each([
    ['of another provider (mix-up)', { iss: 'https://evil.example' }],
    ['that does not say of which provider it is', { iss: '' }],
  ])('%s', async (_what, fields) => {
    isRefused(await callback(fields), 502, 'SIGN_IN_INVALID');
    expect(tokenCalls()).toBe(0);
  });

  it('whose stored part was changed', async () => {
    const state = (await begin()).get('state')!;
    const kept = browser.jar(tenancy).get(signInCookie)!;
    browser.jar(tenancy).set(signInCookie, `${kept.startsWith('A') ? 'B' : 'A'}${kept.slice(1)}`);
    isRefused(await come({ code: 'c-1', state, iss: provider.server.url }), 400, 'SIGN_IN_EXPIRED');
  });

  it('with an error from the provider', async () => {
    isRefused(await callback({ code: '', error: 'access_denied' }), 403, 'SIGN_IN_DENIED');
  });
});

describe('refuses an ID token', () => {
  it.each<[string, object]>([
    ['of another issuer', { iss: 'https://evil.example' }],
    ['for another client', { aud: 'another' }],
    ['that has expired', { exp: Math.floor(Date.now() / 1000) - 60 }],
    ['with another nonce', { nonce: 'replayed' }],
    ['without a nonce', { nonce: undefined }],
    ['whose groups are a text', { groups: 'ops' }],
    ['whose groups are not texts', { groups: [{ name: 'ops' }] }],
  ])('%s', async (_what, claims) => {
    provider.script.claims = { ...claims };
    isRefused(await callback(), 502, 'SIGN_IN_INVALID');
  });

  it.each<[string, () => Promise<void> | void]>([
    [
      'without a signature',
      () => void (provider.script.idToken = async (claims) => `${part({ alg: 'none' })}.${part(claims)}.`),
    ],
    [
      'with HS256 by the public key or the client secret',
      () =>
        void (provider.script.idToken = async (claims) => {
          const signed = `${part({ alg: 'HS256', kid: 'k-1' })}.${part(claims)}`;
          return `${signed}.${createHmac('sha256', oidcClient.client_secret).update(signed).digest('base64url')}`;
        }),
    ],
    ['by another key', () => void (provider.script.idToken = (claims) => provider.sign(claims, provider.strangerKey))],
    ['that is missing', () => void (provider.script.fields = { id_token: undefined })],
  ])('%s', async (_what, change) => {
    await change();
    isRefused(await callback(), 502, 'SIGN_IN_INVALID');
  });

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
});

it('handles thousands of groups, and creates no session without a role', async () => {
  const many = Array.from({ length: 5000 }, (_, index) => createHash('sha256').update(String(index)).digest('hex'));
  provider.script.claims = { groups: [...many, 'ops'] };
  expect((await callback()).status).toBe(303);
  browser.jar(tenancy).delete(sessionCookie);
  provider.script.claims = { groups: many };
  isRefused(await callback(), 403, 'NO_ROLE');
});

it('asks the provider for groups that are missing from the ID token', async () => {
  provider.script.claims = { groups: undefined };
  provider.script.userinfo = { groups: ['all'] };
  expect((await callback()).status).toBe(303);
  expect((await browser.open(`${tenancy}/console/`)).body).toContain('role&quot;:&quot;viewer&quot;');
});

it.each([
  ['https://evil.example/', '/console/'],
  ['//evil.example/', '/console/'],
  ['/console/../..//evil.example', '/console/'],
  ['/console/%2e%2E/v1/openapi.json', '/console/'],
  ['/console/envs/../fleet', '/console/envs/../fleet'],
  ['/console/\\evil', '/console/'],
  ['/v1/operators', '/console/'],
  ['/console/?q=web*&env=eu-1', '/console/?q=web*&env=eu-1'],
])('redirects from %s to %s of the service', async (wish, path) => {
  const state = (await begin(browser, `?return_to=${encodeURIComponent(wish)}`)).get('state')!;
  const { headers } = await come({ code: 'c-1', state, iss: provider.server.url });
  expect(headers.location).toBe(tenancy + path);
});

it('limits cookies to https and this host, and hides them from scripts', async () => {
  const state = (await begin()).get('state')!;
  const { headers } = await come({ code: 'c-1', state, iss: provider.server.url });
  const attributes = 'Secure; HttpOnly; SameSite=Lax';
  expect(headers['set-cookie']).toEqual([
    `${signInCookie}=; Path=/; Max-Age=0; ${attributes}`,
    expect.stringMatching(new RegExp(`^${sessionCookie}=[\\w-]{43}; Path=/; Max-Age=43200; ${attributes}$`)),
  ]);
});

it('shows a clear error page while the provider is down, and signs in once it is back', async () => {
  await provider.server.stopListening();
  const { service, openBrowser } = await startSignInService(authority, provider.server.url);
  const answer = await openBrowser().open(`${tenancy}/console/sign-in`);
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
  expect(answer.body).toContain('the identity provider cannot be used at the moment');
  await provider.server.listen();
  expect((await openBrowser().open(`${tenancy}/console/sign-in`)).status).toBe(303);
  await service.stop();
});

it('answers 503 if groups must be checked while the provider is down, and accepts the session later', async () => {
  provider.script.fields = { refresh_token: 'refresh-token-of-a-fixture' };
  await callback();
  now += 901_000;
  provider.server.answerAlways('token', { status: 500 });
  const whoAmI = () => browser.open(`${tenancy}/v1/whoami`);
  expect(await whoAmI()).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
  now += 40_000;
  const answers = await Promise.all([whoAmI(), whoAmI()]);
  expect(answers.map(({ status }) => status)).toEqual([503, 503]);
  provider.server.answerAlways('token', null);
  now += 6000;
  expect((await whoAmI()).status).toBe(200);
});

it('ends a session without a refresh token at the check interval', async () => {
  await callback();
  now += 901_000;
  expect((await browser.open(`${tenancy}/v1/whoami`)).status).toBe(401);
});

it('refuses many sign-ins from one address, with the time to retry', async () => {
  for (let times = 0; times < 30; times++) await browser.open(`${tenancy}/console/callback?code=x`);
  const answer = await browser.open(`${tenancy}/console/sign-in`);
  expect([answer.status, Number(answer.headers['retry-after'])]).toEqual([429, 60]);
  expect((await browser.open(`${tenancy}/console/signed-out`)).status).toBe(429);
  now += 60_000;
  expect((await browser.open(`${tenancy}/console/sign-in`)).status).toBe(303);
});

it.each(['sign-in', 'signed-out', 'callback?code=x'])(
  'counts no images, frames and requests of other sites to %s',
  async (path) => {
    for (const dest of ['image', 'iframe', 'empty', 'script'])
      for (let times = 0; times < 10; times++) {
        const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': dest };
        expect((await browser.open(`${tenancy}/console/${path}`, { headers })).status).toBe(403);
      }
    expect(provider.server.requests).toEqual([]);
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' };
    expect((await browser.open(`${tenancy}/console/sign-in`, { headers })).status).toBe(303);
  },
);

it('refuses many sign-ins of one person', async () => {
  const statuses: number[] = [];
  for (let times = 0; times < 11; times++) {
    provider.reset();
    statuses.push((await callback()).status);
  }
  expect(statuses).toEqual([...Array<number>(10).fill(303), 429]);
});
