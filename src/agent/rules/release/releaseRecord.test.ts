import { replacedImages, parseReleaseRecord, type ReleaseRecord } from './releaseRecord.ts';

const record: ReleaseRecord = {
  schema: 1,
  sha: 'a'.repeat(64),
  version: '2026.11.21-3',
  sequence: 42,
  production: false,
  services: [{ name: 'web', replicas: 2 }],
  images: [{ reference: 'registry.example/web:1', id: 'sha256:1' }],
  compose: ['compose.yaml'],
};

it('is parsed as it was written', () => {
  expect(parseReleaseRecord(JSON.stringify(record))).toEqual(record);
});

it.each([
  '',
  'null',
  '{}',
  JSON.stringify({ ...record, schema: 2 }),
  JSON.stringify({ ...record, services: ['web'] }),
  JSON.stringify({ ...record, sha: 'x' }),
])('rejects %j', (text) => {
  expect(parseReleaseRecord(text)).toBeNull();
});

it.each<[string, { image: string; imageId: string }[], string[]]>([
  ['the recorded images', [{ image: 'a:1', imageId: 'sha256:a' }], []],
  ['another image under the same name', [{ image: 'a:1', imageId: 'sha256:x' }], ['a:1']],
  [
    'one of several images under the same name',
    ['a', 'x'].map((id) => ({ image: 'a:1', imageId: `sha256:${id}` })),
    ['a:1'],
  ],
  ['an image that is not recorded', [{ image: 'c:1', imageId: 'sha256:x' }], []],
  ['an image without an id', [{ image: 'b:1', imageId: 'sha256:x' }], []],
  ['nothing', [], []],
])('finds replaced images when containers run %s', (_, running, others) => {
  const recorded = [
    { reference: 'a:1', id: 'sha256:a' },
    { reference: 'b:1', id: null },
  ];
  expect(replacedImages(recorded, running).map(({ reference }) => reference)).toEqual(others);
});
