import { otherImages, parseRecord, type ReleaseRecord } from './record.ts';

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

it('reads back what was written', () => {
  expect(parseRecord(JSON.stringify(record))).toEqual(record);
});

it.each([
  '',
  'null',
  '{}',
  JSON.stringify({ ...record, schema: 2 }),
  JSON.stringify({ ...record, services: ['web'] }),
  JSON.stringify({ ...record, sha: 'x' }),
])('takes %j for no record', (text) => {
  expect(parseRecord(text)).toBeNull();
});

it.each<[string, { image: string; imageId: string }[], string[]]>([
  ['the very images', [{ image: 'a:1', imageId: 'sha256:a' }], []],
  ['another one under the same name', [{ image: 'a:1', imageId: 'sha256:x' }], ['a:1']],
  ['one of several under the same name', ['a', 'x'].map((id) => ({ image: 'a:1', imageId: `sha256:${id}` })), ['a:1']],
  ['what was never noted', [{ image: 'c:1', imageId: 'sha256:x' }], []],
  ['what has no id yet', [{ image: 'b:1', imageId: 'sha256:x' }], []],
  ['nothing', [], []],
])('sees where containers run %s', (_, running, others) => {
  const recorded = [
    { reference: 'a:1', id: 'sha256:a' },
    { reference: 'b:1', id: null },
  ];
  expect(otherImages(recorded, running).map(({ reference }) => reference)).toEqual(others);
});
