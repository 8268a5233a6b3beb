import type { BundleDiff } from './bundleDiff.ts';
import { formatDiff } from './formatDiff.ts';

const label = { name: 'shop', env: 'eu-1', version: '1', sequence: 1, sha: null };
const nothing: BundleDiff = {
  before: label,
  after: { ...label, version: '2', sequence: 2 },
  same_content: true,
  manifest: [],
  services: [],
  resources: [],
  images: [],
  variables: [],
  secrets: [],
  files: [],
  powers: [],
};
const changed = { key: 'a', before: '1', after: '2' };
const added = { key: 'b', before: null, after: '3' };
const removed = { key: 'c', before: '4', after: null };

it('shows aligned rows, the powers first', () => {
  const diff: BundleDiff = {
    ...nothing,
    same_content: false,
    powers: [{ key: 'PRIVILEGED_REFUSED', before: null, after: 'service web: privileged' }],
    manifest: [changed],
    services: [
      { name: 'web', change: 'changed', keys: [changed, added, removed] },
      { name: 'api', change: 'added', keys: [added] },
      { name: 'db', change: 'removed', keys: [removed] },
    ],
    resources: [{ name: 'network n', change: 'removed', keys: [] }],
    images: [{ key: 'image', before: null, after: 'app:2' }],
    variables: [changed],
    secrets: [removed],
    files: [changed, added, removed],
  };
  expect(formatDiff(diff).split('\n')).toEqual([
    'the bundles differ',
    '  before     shop 1, sequence 1, for env eu-1',
    '  after      shop 2, sequence 2, for env eu-1',
    '  powers     + service web: privileged',
    '  manifest   ~ a: 1 → 2',
    '  services   ~ web',
    '                 ~ a: 1 → 2',
    '                 + b: 3',
    '                 - c: 4',
    '             + api',
    '                 + b: 3',
    '             - db',
    '  resources  - network n',
    '  images     + app:2',
    '  variables  ~ a: 1 → 2',
    '  secrets    - c: 4',
    '  files      ~ a',
    '             + b',
    '             - c',
  ]);
});

it.each<[string, Partial<BundleDiff>]>([
  ['nothing differs', {}],
  ['nothing differs', { before: { ...label, sha: 'a' } }],
  ['nothing differs', { after: { ...label, sha: 'a' } }],
  ['nothing differs', { before: { ...label, sha: 'a' }, after: { ...label, sha: 'a' } }],
  ['the same files, packed in another way', { before: { ...label, sha: 'a' }, after: { ...label, sha: 'b' } }],
  ['the bundles differ', { same_content: false }],
])('begins with: %s', (headline, diff) => {
  expect(formatDiff({ ...nothing, ...diff }).split('\n')[0]).toBe(headline);
});

it('shows no text of a bundle that could deceive the reader of a terminal, and cuts long ones', () => {
  const hostile = { key: 'a\u202eb', before: '\u001b[2J\nx', after: 'y'.repeat(201) };
  expect(formatDiff({ ...nothing, variables: [hostile] }).split('\n')[3]).toBe(
    `  variables  ~ a\ufffdb: \ufffd[2J\ufffdx → ${'y'.repeat(200)}… (201 characters)`,
  );
});

it('shows the digest of an archive below its name, and texts of 200 characters', () => {
  const long = { key: 'a', before: null, after: 'y'.repeat(200) };
  expect(
    formatDiff({ ...nothing, before: { ...label, sha: 'a1b2' }, variables: [long] })
      .split('\n')
      .slice(1),
  ).toEqual([
    '  before     shop 1, sequence 1, for env eu-1',
    '             a1b2',
    '  after      shop 2, sequence 2, for env eu-1',
    `  variables  + a: ${'y'.repeat(200)}`,
  ]);
});
