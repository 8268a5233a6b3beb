import { createSigner, type Claims } from '../../../../fixtures/servers/crypto/jwt.ts';
import { startSecretstore, type Secretstore as Server } from '../../../../fixtures/servers/secretstore/secretstore.ts';
import { openHttpTestbed, type HttpTestbed } from '../../../../fixtures/servers/http/httpTestbed.ts';
import type { Settings } from '../../config/settings.ts';
import { createSecretstore, type Credential, type Secretstore } from './secretstore.ts';
import { createHttpClient, type HttpClient } from './httpClient.ts';
import { createTransport } from '../transport/createTransport.ts';

type Client = { http: HttpClient };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttpClient({ settings, transport, version: '0.2.0' }), close: transport.close };
}

const never = new AbortController().signal;
const signer = createSigner();
const path = 'deployd/data/eu-1/see/db';

let bed: HttpTestbed<Client>;
let server: Server;
let store: Secretstore;
beforeEach(async () => {
  bed = await openHttpTestbed(connect, () => ({ status: 200 }));
  const trusted = { certificate: bed.certificate, tenancyKey: signer.publicKey, issuer: 'https://tenancy' };
  server = await startSecretstore({ ...trusted, namespace: 'team/a' });
  store = storeWith({ secretstore_namespace: 'team/a' });
});
afterEach(async () => {
  await server.stop();
  await bed.close();
});

function storeWith(changed: Partial<Settings> = {}): Secretstore {
  const client = bed.client({ secretstore_url: server.url, ...changed });
  return createSecretstore({ ...client, vault: bed.vault, requestId: () => 'tick-1' });
}

function grant(claims: Claims = {}, kind: Credential['kind'] = 'grant'): Credential {
  const now = Math.floor(Date.now() / 1000);
  const fixed = { iss: 'https://tenancy', sub: 'b-1', aud: 'secretstore', env: 'eu-1', iat: now, exp: now + 600 };
  const jwt = signer.sign({ ...fixed, kind: `deploy-${kind}`, backend_id: 'b-1', generation: '1', ...claims });
  return { kind, role: 'deploy-agent', jwt };
}

describe('a login', () => {
  test('returns a token, and registers JWT and token for redaction', async () => {
    const credential = grant();
    const login = await store.login(credential, never);
    expect(login).toMatchObject({ ttlS: 3600, renewable: true });
    expect(server.lookUpToken(login.token)?.meta).toMatchObject({ env: 'eu-1' });
    expect(bed.registeredSecrets).toEqual([credential.jwt, login.token]);
  });

  test('sends the headers of the API', async () => {
    await store.login(grant(), never);
    expect(server.requests[0]).toMatchObject({
      requestId: 'tick-1',
      credential: false,
      headers: { 'x-vault-request': 'true', 'x-vault-namespace': 'team/a' },
    });
  });

  it.each([
    ['grant', 'BOOTSTRAP_REFUSED'],
    ['lease', 'LOGIN_REFUSED'],
  ] as const)('with a %s that is refused says %s and why', async (kind, code) => {
    const login = store.login(grant({ aud: 'someone-else' }, kind), never);
    await expect(login).rejects.toMatchObject({ ending: 'failed', code });
    await expect(login).rejects.toThrow('the secretstore answered 400: error validating token: invalid audience (aud)');
  });

  test('with an expired grant is not CLOCK_SKEW while the clocks agree', async () => {
    await expect(store.login(grant({ exp: 1000, iat: 900 }), never)).rejects.toMatchObject({
      code: 'BOOTSTRAP_REFUSED',
    });
  });

  it.each([
    [
      600,
      /^CLOCK_SKEW: this host's clock is (599|600|601) s behind the secretstore's \(.*token is expired\)$/,
      { exp: 300 },
    ],
    [
      -600,
      /^CLOCK_SKEW: this host's clock is (599|600|601) s ahead of the secretstore's \(.*token not yet valid\)$/,
      { exp: 900 },
    ],
  ])('refused because of a clock that is %i s off is CLOCK_SKEW', async (seconds, words, { exp }) => {
    server.clock.advance(seconds);
    const now = Math.floor(Date.now() / 1000);
    const login = store.login(grant({ exp: now + exp, nbf: now }), never);
    await expect(login).rejects.toThrow(words);
    await expect(login).rejects.toMatchObject({ ending: 'failed', code: 'CLOCK_SKEW' });
  });

  test('refused for another reason keeps its own code when the clock is wrong', async () => {
    server.clock.advance(100);
    await expect(store.login(grant({ aud: 'x' }), never)).rejects.toMatchObject({ code: 'BOOTSTRAP_REFUSED' });
  });

  test('that demands a second factor fails with an explanation', async () => {
    server.mount.requiresMfa = true;
    await expect(store.login(grant(), never)).rejects.toThrow('BOOTSTRAP_REFUSED: a second factor (MFA) is demanded');
  });

  test('without a token is PROTOCOL_INVALID', async () => {
    server.answerNext('login', {
      edit: ({ auth, ...rest }: { auth: object }) => ({ ...rest, auth: { ...auth, client_token: '' } }),
    });
    await expect(store.login(grant(), never)).rejects.toThrow(
      'PROTOCOL_INVALID: login: field auth.client_token is empty',
    );
  });

  test('at a sealed, standby or overloaded secretstore is temporary', async () => {
    server.seal();
    await expect(store.login(grant(), never)).rejects.toThrow('login answered 503 (Vault is sealed)');
    server.standby('https://192.0.2.1');
    await expect(store.login(grant(), never)).rejects.toThrow('the node is a standby (307)');
    server.rateLimit(60);
    await expect(store.login(grant(), never)).rejects.toMatchObject({ ending: 'offline' });
  });
});

describe('a secret', () => {
  let token: string;
  beforeEach(async () => {
    ({ token } = await store.login(grant(), never));
  });
  const read = (version: number | null = null, at = path) =>
    store.read({ path: at, field: 'password', version }, token, never);

  test('is read with its version', async () => {
    server.secrets.put(path, { password: 'first' });
    server.secrets.put(path, { password: 'second', user: 'x' });
    expect(await read()).toMatchObject({ data: { password: 'second', user: 'x' }, version: 2 });
    expect(await read(1)).toMatchObject({ data: { password: 'first' }, version: 1 });
  });

  it('in an entry beyond the size limit is refused with path and limit', async () => {
    const values = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`password${at}`, 'x'.repeat(107_000)]));
    server.secrets.put(path, values);
    const detail = `${path}: the whole entry takes more than 1048576 bytes; spread its fields over several paths`;
    await expect(read()).rejects.toMatchObject({
      ending: 'refused',
      code: 'SECRET_UNUSABLE',
      lines: [`refused: SECRET_UNUSABLE: ${detail}`],
    });
  });

  test('is requested by an encoded path', async () => {
    const unusualPath = 'deployd/data/eu-1/see/a b?c#d';
    await expect(read(null, unusualPath)).rejects.toMatchObject({ code: 'SECRET_UNAVAILABLE' });
    expect(server.requests.at(-1)?.path).toBe('/v1/deployd/data/eu-1/see/a%20b%3Fc%23d');
  });

  test('is never requested by a path with dot segments', async () => {
    const asked = server.requests.length;
    await expect(read(null, 'deployd/data/eu-1/see/../../other')).rejects.toMatchObject({ ending: 'failed' });
    expect(server.requests).toHaveLength(asked);
  });

  it.each<{ secret: string; reason: string; prepare?: () => void; version?: number }>([
    { secret: 'of an unknown version', reason: 'not found', version: 7 },
    { secret: 'that is deleted', reason: 'the version is deleted', prepare: () => server.secrets.delete(path) },
    {
      secret: 'that is destroyed',
      reason: 'the version is destroyed',
      prepare: () => server.secrets.destroy(path),
      version: 1,
    },
    { secret: 'that is gone altogether', reason: 'not found', prepare: () => server.secrets.remove(path) },
  ])('$secret is refused with path and field', async ({ reason, prepare, version = null }) => {
    server.secrets.put(path, { password: 'x' });
    prepare?.();
    const suffix = version === null ? '' : ` version ${version}`;
    await expect(read(version)).rejects.toMatchObject({
      ending: 'refused',
      code: 'SECRET_UNAVAILABLE',
      message: `refused: SECRET_UNAVAILABLE: ${path} field password${suffix}: ${reason}`,
    });
  });

  test('of another env is denied by policy', async () => {
    const foreign = 'deployd/data/eu-2/see/db';
    server.secrets.put(foreign, { password: 'x' });
    await expect(read(null, foreign)).rejects.toThrow(
      `refused: SECRET_UNAVAILABLE: ${foreign} field password: permission denied`,
    );
  });

  test('of an invalid shape is PROTOCOL_INVALID', async () => {
    server.answerNext('secret', { status: 200, body: { data: { data: 'x', metadata: { version: 1 } } } });
    await expect(read()).rejects.toThrow('PROTOCOL_INVALID: secret: field data.data is not an object');
  });

  test('of a mount under upgrade is temporary', async () => {
    const errors = ['Upgrading from non-versioned to versioned data. This backend will be unavailable'];
    server.answerNext('secret', { status: 400, body: { errors } });
    await expect(read()).rejects.toMatchObject({ ending: 'offline' });
  });
});

describe('the token', () => {
  let token: string;
  beforeEach(async () => {
    ({ token } = await store.login(grant(), never));
  });
  const kill = () => server.revoke(server.tokens()[0]!.accessor);

  test('has a TTL and an env', async () => {
    const found = await store.lookupSelf(token, never);
    expect(found).toMatchObject({ dead: false, creationTtlS: 3600, renewable: true, env: 'eu-1' });
    expect(found).toHaveProperty('expireTime', expect.stringMatching(/^20\d\d-.*Z$/));
  });

  test('is dead when it is revoked', async () => {
    kill();
    expect(await store.lookupSelf(token, never)).toEqual({ dead: true });
  });

  test('without permission for lookup-self is not dead', async () => {
    server.mount.roles['deploy-agent']!.noDefaultPolicy = true;
    const login = await store.login(grant(), never);
    expect(await store.lookupSelf(login.token, never)).toEqual({ denied: true });
  });

  test('is renewed', async () => {
    expect(await store.renewSelf(token, never)).toEqual({ ttlS: 3600, renewable: true });
  });

  test('that cannot be renewed is reported with the reason', async () => {
    server.answerNext('renew-self', { status: 400, body: { errors: ['lease is not renewable'] } });
    expect(await store.renewSelf(token, never)).toEqual({ refused: 'lease is not renewable' });
  });

  test('whose role was deleted is refused, although the server answers 500', async () => {
    delete server.mount.roles['deploy-agent'];
    const refused = expect.stringContaining('failed to renew entry') as string;
    expect(await store.renewSelf(token, never)).toEqual({ refused });
  });

  test('is kept after an internal server error', async () => {
    server.answerAlways('renew-self', { status: 500, body: { errors: ['internal error'] } });
    await expect(store.renewSelf(token, never)).rejects.toMatchObject({ ending: 'offline' });
  });

  test('is revoked, and revoking a dead token succeeds', async () => {
    await store.revokeSelf(token, never);
    expect(server.lookUpToken(token)).toBeNull();
    await store.revokeSelf(token, never);
  });
});

describe('documented differences of Vault, tested with a stub only', () => {
  let token: string;
  beforeEach(async () => {
    ({ token } = await store.login(grant(), never));
  });

  test('a dead token', async () => {
    const errors = ['2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n'];
    server.answerNext('lookup-self', { status: 403, body: { errors } });
    expect(await store.lookupSelf(token, never)).toEqual({ dead: true });
  });

  test('a mount type in every body', async () => {
    for (const route of ['login', 'lookup-self', 'renew-self'])
      server.answerNext(route, { edit: (body: object) => ({ ...body, mount_type: 'token' }) });
    expect(await store.login(grant(), never)).toMatchObject({ ttlS: 3600 });
    expect(await store.lookupSelf(token, never)).toMatchObject({ dead: false, env: 'eu-1' });
    expect(await store.renewSelf(token, never)).toEqual({ ttlS: 3600, renewable: true });
  });

  test('a secret whose timestamp has fractions of a second', async () => {
    server.secrets.put(path, { password: 'x' });
    const time = '2026-11-22T17:45:05.123456789Z';
    const edit = ({ data }: { data: { metadata: object } }) => ({
      data: { ...data, metadata: { ...data.metadata, created_time: time } },
    });
    server.answerNext('secret', { edit });
    const found = await store.read({ path, field: 'password', version: null }, token, never);
    expect(found).toEqual({ data: { password: 'x' }, version: 1, createdTime: time });
  });

  test('a path without its data/', async () => {
    const warnings = ["Invalid path for a versioned K/V secrets engine. […] use 'vault kv get' for this operation."];
    server.answerNext('*', { status: 404, body: { data: null, warnings } });
    const asked = store.read({ path: 'deployd/db', field: 'password', version: null }, token, never);
    await expect(asked).rejects.toThrow(/SECRET_UNAVAILABLE: .*vault kv get/);
  });
});
