import { contentOf, descriptorOf } from '../../fixtures/world/signatures/signImage.ts';
import type { RegistryContent } from '../../fixtures/world/images.ts';
import { parseImageReference } from './imageReference.rules.ts';
import { findSignatures } from './imageSignatures.ts';
import { openRepository, type RegistryAnswer } from './repository.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const base = 'https://r.example/v2/shop/web';
const [manifestType, indexType] = ['manifest', 'index'].map((kind) => `application/vnd.oci.image.${kind}.v1+json`) as [
  string,
  string,
];
const simpleSigning = 'application/vnd.dev.cosign.simplesigning.v1+json';
const bundleType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const annotations = { 'dev.cosignproject.cosign/signature': 's' };

type Answers = Record<string, Partial<RegistryAnswer>>;

/** Finds the signatures in a registry with these answers, by the path; keeps what was asked. */
async function find(answers: Answers) {
  const asked: string[] = [];
  const repository = openRepository(parseImageReference('r.example/shop/web:1'), {
    loginOf: () => null,
    get: (url, { accept }) => {
      const path = url.href.replace(`${base}/`, '');
      asked.push(path);
      expect(accept).toBe(path === tag || path.startsWith('referrers/') ? indexType : manifestType);
      return Promise.resolve({ status: 404, headers: {}, body: Buffer.alloc(0), ...answers[path] });
    },
  });
  return { ...(await findSignatures(repository, digest)), asked };
}

const blobOf = (content: RegistryContent): Answers => ({
  [`blobs/${content.digest}`]: { status: 200, body: content.bytes },
});
const tag = `manifests/${digest.replace(':', '-')}`;

function simply(layers: object[], ...blobs: RegistryContent[]): Answers {
  const body = contentOf(manifestType, { schemaVersion: 2, layers }).bytes;
  return Object.assign({ [`${tag}.sig`]: { status: 200, body } }, ...blobs.map(blobOf)) as Answers;
}

function index(manifests: object[], headers: RegistryAnswer['headers'] = {}): Partial<RegistryAnswer> {
  const { bytes: body } = contentOf(indexType, { schemaVersion: 2, manifests });
  return { status: 200, headers: { 'content-type': indexType, ...headers }, body };
}

/** A manifest with a Sigstore bundle, and the answers that hold both. */
function referrer(name: string, changes: object = {}) {
  const bundle = contentOf(bundleType, { name });
  const manifest = contentOf(manifestType, { schemaVersion: 2, layers: [descriptorOf(bundle)], ...changes });
  const answers = { ...blobOf(bundle), [`manifests/${manifest.digest}`]: { status: 200, body: manifest.bytes } };
  return { descriptor: { ...descriptorOf(manifest), artifactType: bundleType }, bundle, answers };
}

const payload = contentOf(simpleSigning, { p: 1 });
const layer = { ...descriptorOf(payload), annotations };
const [one, two] = [referrer('one'), referrer('two')];

it('finds signatures under the tag and in the referrers API, and then does not look for the fallback tag', async () => {
  const api = { [`referrers/${digest}`]: index([one.descriptor]) };
  const found = await find({ ...simply([layer], payload), ...api, ...one.answers });
  expect(found.faults).toEqual([]);
  expect(found.signatures).toEqual([{ payload: payload.bytes, annotations }, { bundle: one.bundle.bytes }]);
  expect(found.asked).not.toContain(tag);
});

it.each<[string, Partial<RegistryAnswer>]>([
  ['404', { status: 404 }],
  ['400', { status: 400 }],
  ['405', { status: 405 }],
  ['406', { status: 406 }],
  ['a page for people', { status: 200, headers: { 'content-type': 'text/html' }, body: Buffer.from('<html>') }],
])('looks for the fallback tag where the API answers %s', async (_what, answer) => {
  const answers = { [`referrers/${digest}`]: answer, [tag]: index([one.descriptor]), ...one.answers };
  expect((await find(answers)).signatures).toEqual([{ bundle: one.bundle.bytes }]);
});

it('reads the pages of the API, whatever path their links name, and not for ever', async () => {
  const next = { link: '<https://evil.example/v2/x?last=1>; rel="next"' };
  const pages = {
    [`referrers/${digest}`]: index([one.descriptor], next),
    [`referrers/${digest}?last=1`]: index([two.descriptor]),
  };
  const found = await find({ ...pages, ...one.answers, ...two.answers });
  expect(found.signatures).toHaveLength(2);
  const loop = { ...pages, [`referrers/${digest}?last=1`]: index([], next) };
  const { asked, faults } = await find(loop);
  expect(asked.filter((path) => path.includes('last=1'))).toHaveLength(7);
  expect(faults).toContain('only the first 8 pages of referrers of the image were read');
});

it.each([401, 403, 429, 500, 503])('does not take %s for the absence of signatures', async (status) => {
  const told = status === 401 ? 'r.example requires an unknown kind of login' : `r.example answers ${status}`;
  for (const path of [`${tag}.sig`, `referrers/${digest}`, tag]) {
    const { unanswered, forbidden } = await find({ [path]: { status } });
    const isTag = status === 403 && !path.startsWith('referrers');
    expect(isTag ? forbidden : unanswered).toEqual([expect.stringContaining(told)]);
    expect(isTag ? unanswered : forbidden).toEqual([]);
  }
  for (const path of [`manifests/${one.descriptor.digest}`, `blobs/${one.bundle.digest}`]) {
    const answers = { [tag]: index([one.descriptor, two.descriptor]), ...one.answers, ...two.answers };
    const { unanswered, signatures } = await find({ ...answers, [path]: { status } });
    expect({ unanswered, signatures }).toEqual({ unanswered: [told], signatures: [{ bundle: two.bundle.bytes }] });
  }
});

it('looks for the fallback tag where the API does not answer', async () => {
  const answers = { [`referrers/${digest}`]: { status: 429 }, [tag]: index([one.descriptor]), ...one.answers };
  const { unanswered, signatures } = await find(answers);
  expect({ unanswered, signatures }).toEqual({
    unanswered: ['r.example answers 429'],
    signatures: [{ bundle: one.bundle.bytes }],
  });
});

it('does not wait for the other place once the signatures are enough', async () => {
  const repository = openRepository(parseImageReference('r.example/shop/web:1'), {
    loginOf: () => null,
    get: ({ href }) => {
      const answer = simply([layer], payload)[href.replace(`${base}/`, '')];
      if (answer === undefined) return new Promise(() => undefined);
      return Promise.resolve({ status: 404, headers: {}, body: Buffer.alloc(0), ...answer });
    },
  });
  const { signatures } = await findSignatures(repository, digest, (found) => found.length > 0);
  expect(signatures).toEqual([{ payload: payload.bytes, annotations }]);
});

it('reads a signature behind any number of attestations', async () => {
  const predicate = { 'dev.sigstore.bundle.predicateType': 'https://slsa.dev/provenance/v1' };
  const origins = Array.from({ length: 100 }, (_, at) => referrer(`origin ${at}`, { annotations: predicate }));
  const listed = { [tag]: index([...origins, one].map(({ descriptor }) => descriptor)), ...one.answers };
  const plain = await find(Object.assign(listed, ...origins.map(({ answers }) => answers)) as Answers);
  expect(plain).toMatchObject({ faults: [], signatures: [{ bundle: one.bundle.bytes }] });
  const named = origins.map(({ descriptor }) => ({ ...descriptor, annotations: predicate }));
  const { asked, signatures } = await find({ [tag]: index([...named, one.descriptor]), ...one.answers });
  expect(signatures).toHaveLength(1);
  expect(asked).toHaveLength(5);
});

it.each<[string, object]>([
  ['an index in the index', { ...one.descriptor, mediaType: indexType }],
  ['another artifact', { ...one.descriptor, artifactType: 'application/spdx+json' }],
  ['no digest', { ...one.descriptor, digest: 'sha256:../../x' }],
  ['no size', { ...one.descriptor, size: '7' }],
])('passes over %s', async (_what, descriptor) => {
  const { asked, signatures, faults } = await find({ [tag]: index([descriptor]), ...one.answers });
  expect({ signatures, faults }).toEqual({ signatures: [], faults: [] });
  expect(asked).toHaveLength(3);
});

it.each(['', 'application/vnd.oci.empty.v1+json', 'application/vnd.dev.sigstore.bundle+json;version=0.3'])(
  'reads a referrer of the type %j, as registries and cosign name it',
  async (artifactType) => {
    const found = await find({ [tag]: index([{ ...one.descriptor, artifactType }]), ...one.answers });
    expect(found.signatures).toHaveLength(1);
  },
);

it('passes over what is attested of the image, and over an artifact without a bundle', async () => {
  const origin = referrer('origin', {
    annotations: { 'dev.sigstore.bundle.predicateType': 'https://slsa.dev/provenance/v1' },
  });
  const empty = referrer('empty', { layers: [] });
  const answers = { [tag]: index([origin.descriptor, empty.descriptor]), ...origin.answers, ...empty.answers };
  const { signatures, faults } = await find(answers);
  expect({ signatures, faults }).toEqual({ signatures: [], faults: [] });
});

it.each<[string, Answers, string]>([
  ['a payload that is missing', simply([layer]), `${payload.digest} is missing`],
  [
    'another payload than its digest says',
    { ...simply([layer]), [`blobs/${payload.digest}`]: { status: 200, body: Buffer.from('{"p":2}') } },
    `the registry returns bytes that do not match ${payload.digest}`.slice(0, 60),
  ],
  [
    'a payload of another size',
    simply([{ ...layer, size: 6 }], payload),
    'the registry returns bytes that do not match',
  ],
  ['a payload of 65 537 bytes', simply([{ ...layer, size: 65_537 }], payload), 'has more than 65536 bytes'],
  [
    'another manifest than its digest says',
    {
      [tag]: index([one.descriptor]),
      ...one.answers,
      [`manifests/${one.descriptor.digest}`]: { status: 200, body: Buffer.from('{}') },
    },
    'the registry returns bytes that do not match',
  ],
  ['a manifest that is too big', { [tag]: index([{ ...one.descriptor, size: 1e9 }]) }, 'has more than 65536 bytes'],
])('tells %s', async (_what, answers, fault) => {
  const { signatures, faults } = await find(answers);
  expect(signatures).toEqual([]);
  expect(faults).toEqual([expect.stringContaining(fault)]);
});

it.each([
  'no JSON',
  '[]',
  'null',
  '{"schemaVersion":1}',
  '{"schemaVersion":2,"layers":{}}',
  '{"schemaVersion":2,"layers":[null,7]}',
])('finds nothing in a manifest that is %s', async (text) => {
  const body = Buffer.from(text);
  const { signatures, faults } = await find({ [`${tag}.sig`]: { status: 200, body }, [tag]: { status: 200, body } });
  expect({ signatures, faults }).toEqual({ signatures: [], faults: [] });
});

it('passes over layers of another type, beside a signature of any kind', async () => {
  const other = contentOf('text/plain', { other: 1 });
  const mixed = referrer('mixed', { layers: [descriptorOf(other), descriptorOf(one.bundle)] });
  const found = await find({
    ...simply([descriptorOf(other), layer], payload, other),
    ...{ [tag]: index([mixed.descriptor]), ...mixed.answers, ...one.answers },
  });
  expect(found.faults).toEqual([]);
  expect(found.signatures).toEqual([{ payload: payload.bytes, annotations }, { bundle: one.bundle.bytes }]);
});

it('takes 64 signatures, and one of 64 KiB', async () => {
  const large = contentOf(simpleSigning, Buffer.alloc(65_536, ' '));
  const layers = new Array<object>(64).fill({ ...descriptorOf(large), annotations });
  const { signatures, faults } = await find(simply(layers, large));
  expect(faults).toEqual([]);
  expect(signatures).toHaveLength(64);
});

it.each<[string, string, number]>([
  ['a page with quotes', '</v2/x?last=1>; rel="next"', 2],
  ['a page without', '</v2/x?last=1>;rel=next', 2],
  ['the page before', '</v2/x?last=1>; rel="prev"', 1],
  ['a page in other words', 'see </v2/x?last=1>; rel="next"', 1],
  ['a page without a query', '</v2/x>; rel="next"', 1],
  ['more than a page', '</v2/x?last=1>; rel="next"; more', 1],
])('follows to %s as a link says', async (_what, link, pages) => {
  const answers = { [`referrers/${digest}`]: index([], { link }), [`referrers/${digest}?last=1`]: index([]) };
  const asked = (await find(answers)).asked.filter((path) => path.startsWith('referrers/'));
  expect(asked).toHaveLength(pages);
});

it('takes a type of content with a parameter for an index, and nothing without one', async () => {
  const typed = index([one.descriptor], { 'content-type': `${indexType}; charset=utf-8` });
  expect((await find({ [`referrers/${digest}`]: typed, ...one.answers })).signatures).toHaveLength(1);
  const untyped = { ...typed, headers: {} };
  expect((await find({ [`referrers/${digest}`]: untyped, ...one.answers })).signatures).toEqual([]);
});

it.each(['', 'no index'])('finds nothing where the API answers the index %j', async (text) => {
  const { signatures, asked } = await find({ [`referrers/${digest}`]: { ...index([]), body: Buffer.from(text) } });
  expect(signatures).toEqual([]);
  expect(asked).not.toContain(tag);
});

it('looks at 64 of 10 000 signatures of either kind, and says so', async () => {
  const many = <T>(each: T) => new Array<T>(10_000).fill(each);
  const { signatures, faults, asked } = await find({
    ...simply(many(layer), payload),
    [`referrers/${digest}`]: index(many(one.descriptor)),
    ...one.answers,
  });
  expect(signatures).toHaveLength(128);
  const fault = 'there are more than 64 signatures, and only the first 64 are read';
  const referring = '10000 manifests refer to the image, and only the first 512 are read';
  expect(faults.toSorted()).toEqual([referring, fault, fault].toSorted());
  expect(asked.length).toBeLessThan(240);
});
