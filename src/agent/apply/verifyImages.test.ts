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
import type { Settings } from '../config/configKeys.ts';
import { createRegistries, type RegistryLogin } from '../engine/registries.ts';
import type { ImageRule } from '../../api/trust.rules.ts';
import { ImageMemory, judgeImage } from './verifyImages.ts';

const ca = createCa();
const settings = { connect_timeout_s: 5, http_timeout_s: 5, pull_timeout_s: 60 } as Settings;
const registries = createRegistries({ settings, roots: { all: () => ({ path: 'ca', pem: ca.pem }) }, version: '1' });
const indexType = 'application/vnd.oci.image.index.v1+json';
const image = contentOf(indexType, { schemaVersion: 2, manifests: [] });
const { digest } = image;
const signer = `key SHA256:${key.hint.replace('=', '')}`;

let registry: ImageRegistry;
/** Where some registries redirect to. */
let other: ImageRegistry;
let name: string;
beforeEach(async () => {
  [registry, other] = (await Promise.all(
    [0, 1].map(() => startImageRegistry({ certificate: ca.issue(['127.0.0.1']) })),
  )) as [ImageRegistry, ImageRegistry];
  registry.addManifest('shop/web', '1', image);
  name = `${registry.host}/shop/web`;
});
afterEach(() => Promise.all([registry.stop(), other.stop()]));

interface JudgeOptions {
  logins?: RegistryLogin[];
  rule?: ImageRule;
  memory?: ImageMemory;
  pauses?: Map<string, number>;
  keys?: string[];
}

async function judge(
  reference: string,
  { logins = [], pauses = new Map<string, number>(), keys = [key.publicPem], ...context }: JudgeOptions = {},
) {
  const trust = { threshold: 1, keys, identities: [], root: null };
  const access = registries.open(logins, new AbortController().signal, { pauses });
  try {
    return await judgeImage(`${registry.host}/${reference}`, { trust, problems: [], access, verifyImage, ...context });
  } finally {
    access.close();
  }
}

/** Signs the image as cosign 2, under a tag. */
function signByTag(reference = name): void {
  storeSimply(registry, 'shop/web', digest, [signSimply(simplePayload(digest, reference), key)]);
}

/** Signs the image as cosign 3, with or without the referrers API. */
function signByReferrer(): void {
  const referrer = storeReferrer(registry, 'shop/web', digest, signImage(digest, key));
  storeFallbackTag(registry, 'shop/web', digest, [referrer]);
}

it.each<[string, () => void]>([
  ['under a tag, as cosign 2', () => signByTag()],
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
  const stranger = newSigningKey();
  registry.serveReferrers();
  storeSimply(registry, 'shop/web', digest, [
    signSimply(simplePayload(digest, name), stranger),
    signSimply(simplePayload(`sha256:${'b'.repeat(64)}`), key),
  ]);
  storeReferrer(registry, 'shop/web', digest, signImage(digest, stranger));
  expect(await judge('shop/web:1')).toEqual({
    fault: [
      'nobody who is trusted has signed, and a signature by one of trust.images must be',
      'signature 1: it is by no key that is trusted',
      `signature 2: it is of another image (sha256:${'b'.repeat(64)})`,
      `signature 3: it is by key SHA256:${stranger.hint.replace('=', '')}, which is not trusted`,
    ].join('; '),
  });
});

it('logs in where the registry requires it, and reports a failed login', async () => {
  signByTag();
  registry.requireLogin({ user: 'ann', password: 'pw' });
  const login = { host: registry.host, username: 'ann', password: 'pw' };
  expect(await judge('shop/web:1', { logins: [login] })).toEqual({ digest, signers: [signer] });
  await expect(judge('shop/web:1', { logins: [{ ...login, host: 'other.example' }] })).rejects.toThrow(
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

const withoutSignature = { fault: expect.stringContaining('there is no signature') as string };

/** How the registries of some products answer, by the reports of their users, and what an image without signature is then. */
const dialects: [string, () => void, { fault: string } | string][] = [
  [
    'GHCR, whose referrers redirect to another host with a limit',
    () => {
      registry.answerWith(/referrers/, { status: 303, headers: { location: `http://${other.host}/packages` } });
      other.answerWith(/packages/, { status: 429, headers: { 'retry-after': '3600' } });
    },
    'answers 429, and asks for no calls until',
  ],
  ['GHCR, which has no referrers', () => registry.answerWith(/referrers/, { status: 404 }), withoutSignature],
  [
    'Artifactory, which forbids missing tags',
    () => {
      registry.serveReferrers();
      registry.answerWith(/manifests/, { status: 403, onlyMissing: true });
    },
    { fault: expect.stringContaining(`answers 403 for the tag sha256-`) as string },
  ],
  ['Harbor, which has referrers', () => registry.serveReferrers(), withoutSignature],
  [
    'ECR, which refuses the method for referrers and has its blobs elsewhere',
    () => {
      registry.answerWith(/referrers/, { status: 405 });
      registry.answerWith(/blobs/, { status: 307, headers: { location: `http://${other.host}` } });
    },
    withoutSignature,
  ],
  [
    'GitLab, which requires a token and has no referrers',
    () => registry.requireLogin({ user: 'ann', password: 'pw' }),
    withoutSignature,
  ],
];

describe.each(dialects)('a registry like %s', (_name, speak, unsigned) => {
  const ask = (reference: string) =>
    judge(reference, { logins: [{ host: registry.host, username: 'ann', password: 'pw' }] });
  const references = ['shop/web:1', `shop/web@${digest}`];

  beforeEach(() => speak());

  it.each([
    ['cosign 2', () => signByTag()],
    ['cosign 3', () => signByReferrer()],
    ['both', () => [() => signByTag(), signByReferrer].forEach((sign) => sign())],
  ])('has the signature of %s', async (_version, sign) => {
    sign();
    other.copyFrom(registry);
    for (const reference of references) expect(await ask(reference)).toEqual({ digest, signers: [signer] });
  });

  it('has an image without a signature', async () => {
    for (const reference of references)
      await (typeof unsigned === 'string'
        ? expect(ask(reference)).rejects.toThrow(other.host)
        : expect(ask(reference)).resolves.toEqual(unsigned));
  });
});

const places = [
  ['the tag', /\.sig$/, () => signByReferrer()],
  ['the referrers', /referrers/, () => signByTag()],
  ['the fallback tag', /manifests\/sha256-\w+$/, () => signByTag()],
] as const;

describe.each(places)('an answer for %s', (_place, path, signElsewhere) => {
  it.each([401, 403, 404, 429, 500, 503, 'redirects'] as const)(
    'of %s does not hide the signature elsewhere',
    async (answer) => {
      registry.answerWith(
        path,
        answer === 'redirects' ? { status: 307, headers: { location: '' } } : { status: answer },
      );
      signElsewhere();
      expect(await judge('shop/web:1')).toEqual({ digest, signers: [signer] });
    },
  );
});

it('names the host that answered after a redirect', async () => {
  registry.answerWith(/\.sig$/, { status: 307, headers: { location: `http://${other.host}` } });
  other.answerWith(/\.sig$/, { status: 500 });
  await expect(judge('shop/web:1')).rejects.toThrow(`${other.host}, to which ${registry.host} redirects, answers 500`);
});

it('does not take 403 for the absence of signatures where the image cannot be read either', async () => {
  registry.answerWith(/manifests/, { status: 403 });
  await expect(judge(`shop/web@${digest}`)).rejects.toThrow(`${registry.host} answers 403`);
});

describe('a registry that asks for a pause', () => {
  it('gets a short one', async () => {
    signByTag();
    registry.answerWith(/\.sig$/, { status: 429, headers: { 'retry-after': '1' }, times: 1 });
    const startedMs = performance.now();
    expect(await judge('shop/web:1')).toEqual({ digest, signers: [signer] });
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });

  it('gets no further call before the end of a long one', async () => {
    const pauses = new Map<string, number>();
    registry.answerWith(/manifests/, { status: 503, headers: { 'retry-after': '120' } });
    const ask = () => judge('shop/web:1', { pauses });
    await expect(ask()).rejects.toThrow(`${registry.host} answers 503, and asks for no calls until 2`);
    await expect(ask()).rejects.toThrow(`${registry.host} asked for no calls until 2`);
    expect(registry.requests).toHaveLength(1);
    expect(Math.round((pauses.get(registry.host) ?? 0) - Date.now())).toBeLessThanOrEqual(120_000);
  });
});

describe('the repository that a signature names', () => {
  it('must be the repository of the image', async () => {
    signByTag('origin.example/shop/web');
    const fault = `signature 1: it names origin.example/shop/web and not ${name}`;
    expect(await judge('shop/web:1')).toEqual({ fault: expect.stringContaining(fault) as string });
  });

  it.each<[string, object]>([
    ['origin.example', { digest, signers: [signer], signed_as: 'origin.example/shop/web' }],
    ['*', { digest, signers: [signer], signed_as: null }],
    ['origin.example/other', { fault: expect.stringContaining('it names') as string }],
  ])('may be another one by a rule: %s', async (signed_as, verdict) => {
    signByTag('origin.example/shop/web:1');
    expect(await judge('shop/web:1', { rule: { repository: registry.host, signed_as } })).toEqual(verdict);
  });
});

it('remembers a digest for the same keys and name, and asks for its signatures again for others', async () => {
  signByTag();
  const memory = new ImageMemory();
  const ask = (options: JudgeOptions = {}) => judge('shop/web:1', { memory, ...options });
  expect(await ask()).toEqual({ digest, signers: [signer] });
  const before = registry.requests.length;
  const again = new ImageMemory(memory.entries());
  expect(await ask({ memory: again })).toEqual({ digest, signers: [signer] });
  // The first judgement did not wait for the place that is tried beside the tag of signatures.
  const late = `/v2/shop/web/manifests/${digest.replace(':', '-')}`;
  const paths = registry.requests.slice(before).map(({ path }) => path);
  expect(paths.filter((path) => path !== late)).toEqual(['/v2/shop/web/manifests/1']);
  expect(await ask({ keys: [newSigningKey().publicPem] })).toHaveProperty('fault');
  const rule = { repository: registry.host, signed_as: 'origin.example' };
  expect(await ask({ rule })).toHaveProperty('fault');
});
