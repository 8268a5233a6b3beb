import { parseRecord, type ReleaseRecord } from './record.ts';

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
