import { type Claims, createSigner } from '../../../fixtures/world/servers/crypto/jwt.ts';
import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';
import {
  type Secretstore as Server,
  startSecretstore,
} from '../../../fixtures/world/servers/secretstore/secretstore.ts';
import type { Settings } from '../config/configKeys.ts';
import { createSecretstore, type Credential, type Secretstore } from './secretstore.ts';

const never = new AbortController().signal;
const signer = createSigner();
const path = 'deployd/data/eu-1/see/db';

let bed: HttpTestbed;
let server: Server;
let store: Secretstore;
beforeEach(async () => {
  bed = await openHttpTestbed(() => ({ status: 200 }));
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

  test('without a token is PROTOCOL_INVALID', async () => {
    server.answerNext('login', {
      edit: ({ auth, ...rest }: { auth: object }) => ({ ...rest, auth: { ...auth, client_token: '' } }),
    });
    await expect(store.login(grant(), never)).rejects.toThrow(
      'PROTOCOL_INVALID: login: field auth.client_token is empty',
    );
  });
});

describe('a secret', () => {
  let token: string;
  beforeEach(async () => {
    ({ token } = await store.login(grant(), never));
  });
  const read = (version: number | null = null, at = path) =>
    store.read({ path: at, field: 'password', version }, token, never);

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

  test('is never requested by a path with dot segments', async () => {
    const asked = server.requests.length;
    await expect(read(null, 'deployd/data/eu-1/see/../../other')).rejects.toMatchObject({ ending: 'failed' });
    expect(server.requests).toHaveLength(asked);
  });

  test('of an invalid shape is PROTOCOL_INVALID', async () => {
    server.answerNext('secret', { status: 200, body: { data: { data: 'x', metadata: { version: 1 } } } });
    await expect(read()).rejects.toThrow('PROTOCOL_INVALID: secret: field data.data is not an object');
  });

  test('of another version than the one that is asked for is PROTOCOL_INVALID', async () => {
    server.secrets.put(path, { password: 'x' });
    const edit = ({ data }: { data: { metadata: object } }) => ({
      data: { ...data, metadata: { ...data.metadata, version: 9 } },
    });
    server.answerNext('secret', { edit });
    await expect(read(1)).rejects.toThrow(`PROTOCOL_INVALID: ${path}: the answer is version 9 instead of 1`);
  });
});

describe('the token', () => {
  let token: string;
  beforeEach(async () => {
    ({ token } = await store.login(grant(), never));
  });

  test('that cannot be renewed is reported with the reason', async () => {
    server.answerNext('renew-self', { status: 400, body: { errors: ['lease is not renewable'] } });
    expect(await store.renewSelf(token, never)).toEqual({ refused: 'lease is not renewable' });
  });

  test('is kept after an internal server error', async () => {
    server.answerAlways('renew-self', { status: 500, body: { errors: ['internal error'] } });
    await expect(store.renewSelf(token, never)).rejects.toMatchObject({ ending: 'offline' });
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
