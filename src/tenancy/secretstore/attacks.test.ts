import { createHmac, hash } from 'node:crypto';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { type EmbeddedScene, startEmbedded } from '../../../fixtures/suites/tenancy/secretstore/embeddedScene.ts';
import { createSigner } from '../../../fixtures/world/servers/crypto/jwt.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { publicKeyPems } from '../keys/keyRing.ts';

let scene: EmbeddedScene;
beforeAll(async () => {
  scene = await startEmbedded({ file: join(tempDir(), 'store.sqlite') });
  for (const env of ['eu-1', 'eu-2']) await scene.peer.writeSecret({ env, key: 'db', data: { password: `of ${env}` } });
});
afterAll(() => scene.stop());

const path = 'deployd/data/eu-1/see/db';
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const claims = () => {
  const now = Math.floor(Date.now() / 1000);
  const who = { iss: 'https://tenancy.example', sub: 'backend:b-1', aud: 'secretstore', env: 'eu-1', gen: '1' };
  return { ...who, iat: now, exp: now + 300 };
};

describe('a host', () => {
  it('reads the secrets of its environment with a lease, for five minutes', async () => {
    const token = await scene.leaseToken('eu-1');
    expect((await scene.call('GET', path, { token })).json.data).toMatchObject({ data: { password: 'of eu-1' } });
    scene.passTime(301);
    expect((await scene.call('GET', path, { token })).status).toBe(403);
  });

  it.each([
    'deployd/data/eu-2/see/db',
    'deployd/data/eu-1%2f..%2feu-2/see/db',
    'deployd/data/eu-2%2fsee%2fdb',
    'deployd/data/eu-1/see/%2e%2e/%2e%2e/eu-2/see/db',
    'deployd/data/eu-1/see/..%2f..%2feu-2%2fsee%2fdb',
    'deployd/data/%65u-2/see/db',
    'deployd/data/eu-1/../eu-2/see/db',
    'deployd/data/eu-1//see/db',
    'deployd/data/eu-1/see/./db',
    'deployd/data/eu-1/see/db/',
    'deployd/data/eu-1/see/db%00',
    'deployd/data/EU-1/see/db',
    'deployd/data/+/see/db',
    'deployd/data/*/see/db',
    "deployd/data/eu-1/see/'%20or%201=1%20--",
    'deployd/data/eu-1/see/%ff',
    'deployd/data/_mark/see/db',
    '/v1//deployd/data/eu-2/see/db',
    '/v1/../v1/deployd/data/eu-2/see/db',
    '/deployd/data/eu-1/see/db',
  ])('reads nothing at %s', async (at) => {
    const { status, text } = await scene.call('GET', at, { token: await scene.leaseToken('eu-1') });
    expect([307, 400, 403, 404]).toContain(status);
    expect(text).not.toContain('of eu-');
  });

  it('reads nothing with its own token, and does nothing with a lease but read and revoke', async () => {
    expect((await scene.call('GET', path, { token: await scene.hostToken('eu-1') })).status).toBe(403);
    const token = await scene.leaseToken('eu-1');
    const others = ['auth/token/lookup-self', 'auth/token/renew-self', 'auth/token/lookup', path, `metadata/${path}`];
    for (const at of others) expect((await scene.call('POST', at, { token, body: '{}' })).status).toBe(403);
    const list = 'deployd/metadata/eu-1/see?list=true';
    for (const at of [list, `${path}?list=true`]) expect((await scene.call('GET', at, { token })).status).toBe(403);
  });

  it.each(['-1', '1e9', '99999999999999999999', '0x1', ' 1', '١', '1;', 'NaN'])(
    'gets 400 for version %j',
    async (version) => {
      const token = await scene.leaseToken('eu-1');
      expect((await scene.call('GET', `${path}?version=${encodeURIComponent(version)}`, { token })).status).toBe(400);
    },
  );

  it.each([2, 999_999_999_999_999])('gets 404 for version %d, which does not exist', async (version) => {
    const token = await scene.leaseToken('eu-1');
    expect((await scene.call('GET', `${path}?version=${version}`, { token })).status).toBe(404);
  });
});

describe('a login', () => {
  const strangers = createSigner();
  it.each<[string, string, () => Promise<string>]>([
    ['without an algorithm', 'deploy-agent', async () => `${encode({ alg: 'none' })}.${encode(claims())}.`],
    [
      'signed with the public key as a shared secret',
      'deploy-agent',
      async () => {
        const signed = `${encode({ alg: 'HS256' })}.${encode(claims())}`;
        const mac = createHmac('sha256', publicKeyPems(scene.keys)[0]!).update(signed).digest('base64url');
        return `${signed}.${mac}`;
      },
    ],
    ['signed with another key', 'deploy-agent', async () => strangers.sign(claims())],
    [
      'that brings its own key',
      'deploy-agent',
      async () => {
        const jwk = strangers.publicKey.export({ format: 'jwk' }) as Record<string, string>;
        const header = { alg: 'ES256', kid: scene.keys.jwks().keys[0]!.kid!, jwk: jwk as never };
        const { privateKey } = (await import('node:crypto')).generateKeyPairSync('ec', { namedCurve: 'P-256' });
        return new SignJWT(claims()).setProtectedHeader(header).sign(privateKey);
      },
    ],
    ['that has expired', 'deploy-agent', () => scene.grant('eu-1', { lifetimeS: -200 })],
    ['for the lease of secrets with a grant', 'deploy-apply', () => scene.grant('eu-1')],
    [
      'for a token with a lease of secrets',
      'deploy-agent',
      () => scene.grant('eu-1', { audience: 'secretstore-apply' }),
    ],
    ['of a host as the service', 'tenancy-service', () => scene.grant('eu-1')],
    ['for a role that every object has', 'constructor', () => scene.grant('eu-1')],
    ['for a role that every object has, in another way', '__proto__', () => scene.grant('eu-1')],
    ['without a role', '', () => scene.grant('eu-1')],
  ])('%s is refused', async (_what, role, jwtOf) => {
    const { status, json } = await scene.login(role, await jwtOf());
    expect([status, json.auth]).toEqual([400, undefined]);
  });

  it.each([
    ['a body that is too large', JSON.stringify({ jwt: 'x'.repeat(2 ** 21) }), 413],
    ['nested lists', `{"jwt": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400],
    ['a JWT of dots', JSON.stringify({ role: 'deploy-agent', jwt: '.'.repeat(10_000) }), 400],
    ['text that is not JSON', 'jwt=x', 400],
  ])('with %s is refused', async (_what, body, status) => {
    expect((await scene.call('POST', 'auth/jwt-tenancy/login', { body })).status).toBe(status);
  });
});

describe('a token', () => {
  const lookUp = (token: string) => scene.call('GET', 'auth/token/lookup-self', { token });

  it('is stored only as its hash, which is not a token itself', async () => {
    const token = await scene.hostToken('eu-1');
    const rows = await scene.store.selectFrom('secretstore_tokens').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token);
    const { hash: stored } = rows.find((row) => row.hash === hash('sha256', token, 'base64'))!;
    for (const guess of [stored, token.toUpperCase(), token.slice(0, -1), 'x'.repeat(10_000)])
      expect((await lookUp(guess)).status).toBe(403);
    expect((await lookUp(token)).status).toBe(200);
  });

  it('identifies its host to the service until it is revoked, or has expired', async () => {
    const token = await scene.hostToken('eu-1');
    const owner = await scene.peer.lookUpToken(token);
    expect(owner).toMatchObject({ backendId: 'b-1', env: 'eu-1', generation: 1 });
    await scene.peer.revokeToken(owner!.accessor);
    expect([(await lookUp(token)).status, await scene.peer.lookUpToken(token)]).toEqual([403, null]);
    const other = await scene.hostToken('eu-1');
    scene.passTime(8 * 86_400);
    expect([(await lookUp(other)).status, await scene.peer.lookUpToken(other)]).toEqual([403, null]);
    expect(await scene.peer.lookUpToken(await scene.leaseToken('eu-1'))).toBeNull();
  });

  it('is renewed for a week at a time, and for thirty days in all', async () => {
    const token = await scene.hostToken('eu-1');
    const renew = async () => {
      const { status, json } = await scene.call('POST', 'auth/token/renew-self', {
        token,
        body: '{"increment":"999999h"}',
      });
      return json.auth?.lease_duration ?? status;
    };
    const nested = `{"increment": ${'['.repeat(300_000)}${']'.repeat(300_000)}}`;
    expect((await scene.call('POST', 'auth/token/renew-self', { token, body: nested })).status).toBe(400);
    scene.passTime(86_400);
    expect(await renew()).toBe(29 * 86_400);
    scene.passTime(28 * 86_400);
    expect(await renew()).toBe(86_400);
    scene.passTime(86_401);
    expect(await renew()).toBe(403);
  });

  it('of an address that guesses many does not keep others from calling', async () => {
    const guesses = Array.from({ length: 300 }, (_, index) => lookUp(`s.${String(index).padStart(24, '0')}`));
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status)).has(200)).toBe(false);
    expect((await scene.call('GET', 'sys/health')).status).toBe(200);
  });
});
