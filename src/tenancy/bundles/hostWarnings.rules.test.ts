import { bundleSizeOf, exceededLimit, formatHostWarnings } from './hostPolicies.rules.ts';

const limits = { bundle_bytes: 100, unpacked_bytes: 200, bundle_entries: 3 };

it.each([
  ['of just the limits', {}, null],
  ['of too many bytes', { bundle_bytes: 101, bundle_entries: 4 }, '101 bytes, limits.bundle_bytes allows 100'],
  ['of too many files', { bundle_entries: 4 }, 'more than 3 files and directories (limits.bundle_entries)'],
  ['of too many bytes unpacked', { unpacked_bytes: 201 }, 'more than 200 bytes unpacked (limits.unpacked_bytes)'],
])('checks a bundle %s', (_, size, detail) => {
  expect(exceededLimit({ ...limits, ...size }, { limits })).toBe(detail);
});

it('counts files and directories, and the bytes of files', () => {
  const file = { sha256: 'x', executable: false };
  const files = [
    { ...file, path: 'a/b', size: 3 },
    { ...file, path: 'c', size: 4 },
  ];
  expect(bundleSizeOf({ files, directories: ['a'] }, 9)).toEqual({
    bundle_bytes: 9,
    unpacked_bytes: 7,
    bundle_entries: 3,
  });
});

it('groups hosts by refusal, names at most ten, and keeps each name in one line', () => {
  const code = 'BUNDLE_UNSAFE' as const;
  const hosts = [
    { code, id: 'b-1', name: 'one\nline', detail: 'too large' },
    { code: 'COMPOSE_REFUSED' as const, id: 'b-2', name: 'two', detail: 'too large' },
    { code, id: 'b-3', name: 'three', detail: 'too large' },
  ];
  expect(formatHostWarnings(hosts)).toEqual([
    'BUNDLE_UNSAFE: too large: refused by one\ufffdline (b-1), three (b-3)',
    'COMPOSE_REFUSED: too large: refused by two (b-2)',
  ]);
  const many = Array.from({ length: 12 }, (__, index) => ({
    code,
    id: `b-${index}`,
    name: 'web',
    detail: 'too large',
  }));
  expect(formatHostWarnings(many)).toEqual([expect.stringMatching(/web \(b-9\), and 2 more$/)]);
  expect(formatHostWarnings([])).toEqual([]);
});
