import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { migrateStore, openStore, type Store } from '../store/openStore.ts';
import {
  addKey,
  deleteExpiredKeys,
  listSigningKeys,
  LONGEST_LIFE_MS,
  openKeyRing,
  PUBLISHED_AHEAD_MS,
  seal,
  signGrant,
  unseal,
} from './keyRing.ts';

const now = Date.parse('2026-11-24T12:00:00.500Z');
const keyFile = randomBytes(32);
const subject = { id: 'b-1', env: 'eu-1', generation: 7 };
const terms = { issuer: 'https://tenancy.example', audience: 'secretstore', lifetimeS: 300, now };

let dir: string;
let store: Store;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-credentials-'));
  store = openStore({ file: join(dir, 'store.sqlite') });
  await migrateStore(store);
});
afterEach(async () => {
  await store.destroy();
  await rm(dir, { recursive: true });
});

describe('a grant', () => {
  it('contains backend, environment and generation, for one audience and a limited time', async () => {
    await addKey(store, keyFile, now);
    const keys = await openKeyRing(store, keyFile);
    const [one, other] = [await signGrant(keys, subject, terms), await signGrant(keys, subject, terms)];
    expect(one.expiresAt).toBe('2026-11-24T12:05:00.000Z');
    const { payload, protectedHeader } = await jwtVerify(one.jwt, createLocalJWKSet(keys.jwks()), {
      currentDate: new Date(now),
    });
    expect(payload).toEqual({
      iss: 'https://tenancy.example',
      aud: 'secretstore',
      sub: 'backend:b-1',
      env: 'eu-1',
      gen: '7',
      iat: 1_795_521_600,
      exp: 1_795_521_900,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    expect(protectedHeader).toMatchObject({ alg: 'ES256', kid: (await listSigningKeys(store))[0]!.kid });
    expect(one.jwt).not.toBe(other.jwt);
  });

  it('cannot be signed without a key', async () => {
    const keys = await openKeyRing(store, keyFile);
    await expect(signGrant(keys, subject, terms)).rejects.toThrow(
      'there is no signing key: run sudo deployd-tenancy init',
    );
  });

  it('is signed by the first key even if the clock was set back to before it', async () => {
    const first = await addKey(store, keyFile, now + 1);
    await addKey(store, keyFile, now + 2);
    const keys = await openKeyRing(store, keyFile);
    expect(keys.signer(now).kid).toBe(first);
  });
});

describe('a rotation', () => {
  it('publishes the new key before it signs, and the old one while its signatures are valid', async () => {
    const old = await addKey(store, keyFile, now);
    const fresh = await addKey(store, keyFile, now + PUBLISHED_AHEAD_MS);
    const keys = await openKeyRing(store, keyFile);
    expect(keys.jwks().keys.map(({ kid }) => kid)).toEqual([old, fresh]);
    expect(keys.signer(now + PUBLISHED_AHEAD_MS - 1).kid).toBe(old);
    expect(keys.signer(now + PUBLISHED_AHEAD_MS).kid).toBe(fresh);
    await deleteExpiredKeys(store, now + PUBLISHED_AHEAD_MS + LONGEST_LIFE_MS);
    expect(await listSigningKeys(store)).toHaveLength(2);
    await deleteExpiredKeys(store, now + PUBLISHED_AHEAD_MS + LONGEST_LIFE_MS + 1);
    expect((await listSigningKeys(store)).map(({ kid }) => kid)).toEqual([fresh]);
    expect((await openKeyRing(store, keyFile)).jwks().keys[0]).not.toHaveProperty('d');
  });
});

describe('a private key', () => {
  it('is stored encrypted', async () => {
    await addKey(store, keyFile, now);
    const { kid, sealed_key } = (await listSigningKeys(store))[0]!;
    const pem = unseal(keyFile, kid, sealed_key)!;
    const files = await Promise.all(['', '-wal'].map((end) => readFile(join(dir, `store.sqlite${end}`), 'latin1')));
    for (const line of pem.split('\n').slice(1, 3)) expect(files.some((text) => text.includes(line))).toBe(false);
    await expect(openKeyRing(store, randomBytes(32))).rejects.toThrow('the key file is not the one that encrypted');
  });

  it.each([
    ['of another name', (sealed: string) => unseal(keyFile, 'other', sealed)],
    [
      'with a changed byte',
      (sealed: string) => unseal(keyFile, 'kid', `${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`),
    ],
    ['cut short', (sealed: string) => unseal(keyFile, 'kid', sealed.slice(0, 20))],
  ])('%s is not decrypted', (_how, open) => {
    const sealed = seal(keyFile, 'kid', 'text');
    expect([unseal(keyFile, 'kid', sealed), open(sealed)]).toEqual(['text', null]);
  });
});
