import { createCa, serverNames } from '../../../fixtures/world/servers/crypto/ca.ts';
import { createSigner } from '../../../fixtures/world/servers/crypto/jwt.ts';
import { jsonOf, sendRequest } from '../../../fixtures/world/servers/http/sendRequest.ts';
import {
  type Secretstore as Fixture,
  startSecretstore,
} from '../../../fixtures/world/servers/secretstore/secretstore.ts';
import { tenancyMount } from '../../../fixtures/world/servers/secretstore/tenancyMount.ts';
import { parseAuthorities } from '../../core/certificateAuthorities.ts';
import { PeerError } from './bundleStorage.ts';
import { openSecretstore, type OpenSecretstore, PatchForbidden } from './secretstore.ts';

const ca = createCa();
const signer = createSigner();
const issuer = 'https://tenancy';

let fixture: Fixture;
let secretstore: OpenSecretstore;
beforeEach(async () => {
  fixture = await startSecretstore({ certificate: ca.issue(serverNames), tenancyKey: signer.publicKey, issuer });
  Object.assign(fixture.mount, tenancyMount({ keys: [signer.publicKey], issuer }));
  secretstore = openSecretstore({
    url: fixture.url,
    authorities: parseAuthorities(ca.pem)!,
    namespace: null,
    signLogin: async () => jwtOf('tenancy-service'),
    clock: () => fixture.clock.now(),
  });
});
afterEach(async () => {
  await secretstore.close();
  await fixture.stop();
});

function jwtOf(sub: string): string {
  const iat = Math.floor(fixture.clock.now() / 1000);
  return signer.sign({ iss: issuer, sub, aud: 'secretstore', env: 'eu-1', gen: '1', iat, exp: iat + 60 });
}

async function tokenOfBackend(): Promise<string> {
  const json = { role: 'deploy-agent', jwt: jwtOf('backend:b-1') };
  const answer = await sendRequest(`${fixture.url}/v1/auth/jwt-tenancy/login`, { ca: ca.pem, json });
  return (jsonOf(answer) as { auth: { client_token: string } }).auth.client_token;
}

const ownTokens = () => fixture.tokens().filter(({ meta }) => meta['role'] === 'tenancy-service');
const callsOf = (route: string) => fixture.requests.filter((request) => request.route === route).length;
/** Revokes every token of the service, as an operator could. */
const revokeOwn = () => ownTokens().forEach(({ accessor }) => fixture.revoke(accessor));

describe('a refused lookup', () => {
  it('is trusted if the service’s own token works', async () => {
    expect(await secretstore.lookUpToken('none')).toBeNull();
    expect([callsOf('login'), callsOf('lookup')]).toEqual([1, 2]);
  });

  it('is repeated after the service’s own token has expired', async () => {
    const bearer = await tokenOfBackend();
    await secretstore.check();
    revokeOwn();
    expect(await secretstore.lookUpToken(bearer)).toMatchObject({ backendId: 'b-1' });
    expect(ownTokens()).toHaveLength(2);
  });

  it('is an error if the service may not look up tokens', async () => {
    const bearer = await tokenOfBackend();
    fixture.mount.roles['tenancy-service']!.policies = ['other'];
    await expect(secretstore.lookUpToken(bearer)).rejects.toThrow(
      'secretstore: the service is refused although it has just logged in: see `sudo deployd-tenancy secretstore plan --token-file FILE`',
    );
    expect(ownTokens()).toHaveLength(2);
  });

  it('is skipped for an empty bearer, which would mean the service itself', async () => {
    expect(await secretstore.lookUpToken('')).toBeNull();
    expect(fixture.requests.map(({ route }) => route)).toEqual(['login', 'lookup']);
  });
});

it('repeats a call once with a new token', async () => {
  await secretstore.check();
  revokeOwn();
  expect(await secretstore.writeSecret({ env: 'eu-1', key: 'db', data: { password: 'x' } })).toBe(1);
  expect(fixture.secrets.paths()).toEqual(['deployd/data/eu-1/see/db']);
});

describe('a write that keeps fields', () => {
  const secret = { env: 'eu-1', key: 'db', data: { user: 'ann' }, keepsFields: true };
  const denied = { status: 403, body: { errors: ['1 error occurred:\n\t* permission denied\n\n'] } };

  it('is repeated if somebody creates the secret meanwhile', async () => {
    fixture.secrets.put('deployd/data/eu-1/see/db', { password: 'x' });
    fixture.answerNext('secret', { status: 404, body: {} });
    expect(await secretstore.writeSecret(secret)).toBe(2);
    expect(fixture.secrets.newestFields('deployd/data/eu-1/see/db')).toEqual({ password: 'x', user: 'ann' });
  });

  it('is repeated once with a new token', async () => {
    await secretstore.check();
    revokeOwn();
    expect(await secretstore.writeSecret(secret)).toBe(1);
  });

  it('is an error without a new login if the policy is of an earlier version', async () => {
    fixture.answerNext('secret', denied);
    await expect(secretstore.writeSecret(secret)).rejects.toThrow(PatchForbidden);
    fixture.answerNext('secret', denied);
    await expect(secretstore.checkPolicy()).rejects.toThrow(/lacks the capability `patch`: run `secretstore apply`$/);
    await secretstore.checkPolicy();
    expect([callsOf('login'), fixture.secrets.paths()]).toEqual([1, []]);
  });
});

it('revokes its token when it is closed', async () => {
  await secretstore.check();
  await secretstore.close();
  expect(ownTokens()).toMatchObject([{ revoked: true }]);
});

it.each<[string, () => unknown, string | RegExp, number]>([
  ['sealed', () => fixture.seal(), /login answered 503 \(Vault is sealed\)/, 5],
  ['a standby', () => fixture.standby('https://other'), /login answered 307 \(the node is a standby\)/, 5],
  ['overloaded', () => fixture.rateLimit(17), /login answered 429 \(request path/, 17],
  ['overloaded for an implausible time', () => fixture.rateLimit(86_400), /login answered 429 \(request path/, 5],
  [
    'not trusted',
    () => fixture.setCertificate(ca.issue(serverNames, { expired: true })),
    /login: the certificate of "127\.0\.0\.1" expired at .*: renew the certificate on the server/,
    5,
  ],
  ['down', () => fixture.stopListening(), 'login: ECONNREFUSED', 5],
  ['sending too much', () => fixture.answerNext('login', { padBytes: 5_000_000 }), 'login: TOO_LARGE', 5],
  [
    'returning an unusable login',
    () => fixture.answerNext('login', { status: 200, body: { auth: {} } }),
    'answer to the login cannot be',
    5,
  ],
  [
    'returning an unusable lookup',
    () => fixture.answerNext('lookup', { status: 200, body: 'x' }),
    'answer to the token lookup cannot be',
    5,
  ],
])('returns an error with a retry time for a secretstore that is %s', async (_what, happens, why, retryAfterS) => {
  await happens();
  const error = await secretstore.check().catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(PeerError);
  expect(error).toMatchObject({ peer: 'secretstore', retryAfterS, message: expect.stringMatching(why) as string });
});

it.each([412, 472, 473])('repeats a call when a lagging node answers it with %i', async (status) => {
  const lagging = { status, body: { errors: ['required index state not present'] } };
  fixture.answerNext('login', lagging);
  await secretstore.check();
  fixture.answerNext('secret', lagging);
  expect(await secretstore.writeSecret({ env: 'eu-1', key: 'db', data: { password: 'x' } })).toBe(1);
  expect([callsOf('login'), callsOf('secret')]).toEqual([2, 2]);
});

describe('an error', () => {
  it('does not contain the value of a secret, even if the secretstore repeats it', async () => {
    fixture.answerNext('secret', { status: 400, body: { errors: ['cannot convert canary'] } });
    const write = secretstore.writeSecret({ env: 'eu-1', key: 'db', data: { password: 'canary' } });
    await expect(write).rejects.toThrow(/^secretstore: write of a secret answered 400$/);
  });

  it('reports a missing mount, not an environment without secrets', async () => {
    fixture.answerNext('metadata', { status: 404, body: { errors: ['no handler for route "deployd/"'] } });
    await expect(secretstore.listSecrets('eu-1')).rejects.toThrow('list of secrets answered 404 (no handler for route');
  });
});

it('destroys all secrets of one environment, including folders, until it is stopped', async () => {
  for (const path of ['eu-1/see/a', 'eu-1/see/b/c', 'eu-1/see/b/d/e', 'eu-10/see/a']) {
    fixture.secrets.put(`deployd/data/${path}`, { value: 'x' });
  }
  const ended = AbortSignal.abort();
  await expect(secretstore.destroySecrets('eu-1', ended)).rejects.toThrow(/abort/);
  expect(fixture.secrets.paths()).toHaveLength(4);
  const { signal } = new AbortController();
  await secretstore.destroySecrets('eu-1', signal);
  await secretstore.destroySecrets('eu-1', signal);
  expect(fixture.secrets.paths()).toEqual(['deployd/data/eu-10/see/a']);
});
