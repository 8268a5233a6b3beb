import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { migrateStore, openStore, type Store } from '../store/openStore.ts';
import {
  addKey,
  deleteSigningKeys,
  type FollowedKeyRing,
  followKeyRing,
  KeyError,
  listSigningKeys,
} from './keyRing.ts';

const keyFile = randomBytes(32);
let store: Store;
let followed: FollowedKeyRing;
let errors: unknown[];
beforeEach(async () => {
  store = openStore({ file: join(tempDir(), 'store.sqlite') });
  await migrateStore(store);
  await addKey(store, keyFile, 0);
  errors = [];
  followed = await followKeyRing({ store, keyFile, onError: (error) => void errors.push(error) }, 5);
});
afterEach(async () => {
  await followed.stop();
  await store.destroy();
});

const publishedKids = () =>
  followed
    .current()
    .jwks()
    .keys.map(({ kid }) => kid);
const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await setTimeout(1);
};

it('publishes a key that another process has added', async () => {
  expect(publishedKids()).toHaveLength(1);
  const kid = await addKey(store, keyFile, Date.now());
  await until(() => publishedKids().includes(kid));
  expect(followed.current().signer(Date.now()).kid).toBe(kid);
});

it('keeps the known keys while new ones cannot be read', async () => {
  const known = publishedKids();
  const sealed = await addKey(store, randomBytes(32), Date.now());
  await until(() => errors.length > 1);
  expect(errors[0]).toBeInstanceOf(KeyError);
  expect(publishedKids()).toEqual(known);
  await deleteSigningKeys(store, [sealed]);
  const kid = await addKey(store, keyFile, Date.now());
  await until(() => publishedKids().includes(kid));
});

it('stops using the store before stop() resolves', async () => {
  await followed.stop();
  const looks = errors.length;
  await addKey(store, randomBytes(32), Date.now());
  await setTimeout(30);
  expect(errors).toHaveLength(looks);
  expect(await listSigningKeys(store)).toHaveLength(2);
});
