import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type ImageRegistry, startImageRegistry } from '../../../fixtures/world/servers/registry/imageRegistry.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import {
  contentOf,
  signImage,
  signSimply,
  simplePayload,
  storeFallbackTag,
  storeReferrer,
  storeSimply,
} from '../../../fixtures/world/signatures/signImage.ts';
import { key } from '../../../fixtures/world/signatures/trusted.ts';
import { verifyImage } from '../../signatures/verifyImage.ts';
import type { Settings } from '../config/settings.ts';
import { createRegistries, type RegistryLogin } from '../engine/registries.ts';
import { judgeImage } from './verifyImages.ts';

const ca = createCa();
const settings = { connect_timeout_s: 5, http_timeout_s: 5, pull_timeout_s: 60 } as Settings;
const registries = createRegistries({ settings, roots: { all: () => ({ path: 'ca', pem: ca.pem }) }, version: '1' });
const indexType = 'application/vnd.oci.image.index.v1+json';
const image = contentOf(indexType, { schemaVersion: 2, manifests: [] });
const { digest } = image;
const signer = `key SHA256:${key.hint.replace('=', '')}`;

let registry: ImageRegistry;
beforeEach(async () => {
  registry = await startImageRegistry({ certificate: ca.issue(['127.0.0.1']) });
  registry.addManifest('shop/web', '1', image);
});
afterEach(() => registry.stop());

async function judge(reference: string, logins: RegistryLogin[] = []) {
  const trust = { threshold: 1, keys: [key.publicPem], identities: [], root: null };
  const access = registries.open(logins, new AbortController().signal);
  try {
    return await judgeImage(`${registry.host}/${reference}`, { trust, problems: [], access, verifyImage });
  } finally {
    access.close();
  }
}

it.each<[string, () => void]>([
  [
    'under a tag, as cosign 2',
    () => storeSimply(registry, 'shop/web', digest, [signSimply(simplePayload(digest), key)]),
  ],
  [
    'as a referrer, as cosign 3',
    () => {
      registry.serveReferrers();
      storeReferrer(registry, 'shop/web', digest, signImage(digest, key));
    },
  ],
  [
    'under the fallback tag, as cosign 3 without a referrers API',
    () =>
      storeFallbackTag(registry, 'shop/web', digest, [
        storeReferrer(registry, 'shop/web', digest, signImage(digest, key)),
      ]),
  ],
])('resolves a tag to its index, whose signature is %s', async (_where, store) => {
  const without = await judge('shop/web:1');
  expect(without).toEqual({ fault: 'there is no signature, and a signature by one of trust.images must be' });
  store();
  expect(await judge('shop/web:1')).toEqual({ digest, signers: [signer] });
  expect(await judge(`shop/web@${digest}`)).toEqual({ digest, signers: [signer] });
});

it('lists every rejected signature with its reason', async () => {
  const other = newSigningKey();
  registry.serveReferrers();
  storeSimply(registry, 'shop/web', digest, [
    signSimply(simplePayload(digest), other),
    signSimply(simplePayload(`sha256:${'b'.repeat(64)}`), key),
  ]);
  storeReferrer(registry, 'shop/web', digest, signImage(digest, other));
  expect(await judge('shop/web:1')).toEqual({
    fault: [
      'nobody who is trusted has signed, and a signature by one of trust.images must be',
      'signature 1: it is by no key that is trusted',
      `signature 2: it is of another image (sha256:${'b'.repeat(64)})`,
      `signature 3: it is by key SHA256:${other.hint.replace('=', '')}, which is not trusted`,
    ].join('; '),
  });
});

it('logs in where the registry requires it, and reports a failed login', async () => {
  storeSimply(registry, 'shop/web', digest, [signSimply(simplePayload(digest), key)]);
  registry.requireLogin({ user: 'ann', password: 'pw' });
  const login = { host: registry.host, username: 'ann', password: 'pw' };
  expect(await judge('shop/web:1', [login])).toEqual({ digest, signers: [signer] });
  await expect(judge('shop/web:1', [{ ...login, host: 'other.example' }])).rejects.toThrow(
    `${registry.host} requires a login, and none is configured for it`,
  );
});

it.each([404, 429, 500])('does not treat a registry that answers %s as one without signatures', async (status) => {
  if (status === 404) registry.removeImage('shop/web', '1');
  else registry.fail({ status, code: 'X', message: 'x' });
  await expect(judge('shop/web:1')).rejects.toThrow(`${registry.host} answers ${status}`);
  registry.fail('reset');
  await expect(judge('shop/web:1')).rejects.toThrow(`registry ${registry.host}: connection reset`);
});

it.each([
  [`sha256:${'a'.repeat(64)}`, 'it is the id of an image on this host: use its name in a registry'],
  [`shop/web@sha512:${'a'.repeat(128)}`, 'its digest is not a sha256: name it by that, or by a tag'],
  ['', 'it has no name: only an image in a registry can be signed'],
])('%s cannot be verified', async (reference, fault) => {
  const access = registries.open([], new AbortController().signal);
  const trust = { threshold: 1, keys: [], identities: [], root: null };
  expect(await judgeImage(reference, { trust, problems: [], access, verifyImage })).toEqual({ fault });
});

it.each([401, 403, 429, 500, 503])(
  'a registry that answers %s for the tag does not hide the signature elsewhere',
  async (status) => {
    registry.serveReferrers();
    registry.answerWith(/\.sig$/, { status });
    storeReferrer(registry, 'shop/web', digest, signImage(digest, key));
    expect(await judge('shop/web:1')).toEqual({ digest, signers: [signer] });
  },
);
