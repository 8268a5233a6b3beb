import { contentOf } from '../../fixtures/signatures/signImage.ts';
import { contentFault, parseManifest } from './imageSignatures.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const descriptor = { mediaType: 'a/b', digest, size: 7 };
const parse = (json: unknown) => parseManifest(Buffer.from(JSON.stringify(json)));

it('reads descriptors, and what they leave out as empty', () => {
  const full = { ...descriptor, artifactType: 'c/d', annotations: { e: 'f' } };
  expect(parse({ schemaVersion: 2, annotations: { g: 'h' }, layers: [descriptor], manifests: [full] })).toEqual({
    annotations: { g: 'h' },
    layers: [{ ...descriptor, artifactType: '', annotations: {} }],
    manifests: [full],
  });
  expect(parse({ schemaVersion: 2 })).toEqual({ annotations: {}, layers: [], manifests: [] });
});

it.each([null, 7, 'text', [], {}, { schemaVersion: 1 }, { schemaVersion: '2' }])('%j is no manifest', (json) => {
  expect(parse(json)).toBeNull();
});

it('what is no JSON is no manifest', () => {
  expect(parseManifest(Buffer.from('schemaVersion: 2'))).toBeNull();
});

it.each<[string, unknown]>([
  ['nothing', null],
  ['a number', 7],
  ['a list', [descriptor]],
  ['no media type', { digest, size: 7 }],
  ['a media type that is no text', { ...descriptor, mediaType: 7 }],
  ['no digest', { mediaType: 'a/b', size: 7 }],
  ['a digest that is no text', { ...descriptor, digest: [digest] }],
  ['a digest after something else', { ...descriptor, digest: `x${digest}` }],
  ['a digest before something else', { ...descriptor, digest: `${digest}/../x` }],
  ['a digest in capitals', { ...descriptor, digest: digest.toUpperCase() }],
  ['a size that is no number', { ...descriptor, size: '7' }],
])('leaves out a layer that is %s', (_what, layer) => {
  expect(parse({ schemaVersion: 2, layers: [layer, descriptor] })?.layers).toHaveLength(1);
});

it.each<[string, object]>([
  ['type of an artifact', { artifactType: 7 }],
  ['list of annotations', { annotations: ['x'] }],
])('takes a %s that has another form for none', (_what, fields) => {
  const [layer] = parse({ schemaVersion: 2, layers: [{ ...descriptor, ...fields }] })?.layers ?? [];
  expect(layer).toEqual({ ...descriptor, artifactType: '', annotations: {} });
});

it('knows the bytes of a descriptor', () => {
  const { bytes, digest: own } = contentOf('a/b', { c: 1 });
  const named = { ...descriptor, digest: own, size: bytes.length, artifactType: '', annotations: {} };
  const fault = expect.stringMatching(/^the registry gives other bytes than those of sha256:/) as string;
  expect(contentFault(named, bytes)).toBeNull();
  expect(contentFault({ ...named, size: bytes.length + 1 }, bytes)).toEqual(fault);
  expect(contentFault({ ...named, digest }, bytes)).toEqual(fault);
});
