import { isPinNeeded, newestPin, pinSecret } from './bundle.rules.ts';

const path = 'deployd/data/eu-1/see/db';
const secretOf = (version: number | null, at = path) => ({ var: 'A', path: at, field: 'f', version });

it.each([
  ['an older version', [secretOf(2)], true],
  ['the newest, whichever it is', [secretOf(null)], true],
  ['this version', [secretOf(3)], false],
  ['a newer version', [secretOf(4)], false],
  ['another secret', [secretOf(1, `${path}2`)], false],
  ['this version and an older one', [secretOf(3), secretOf(2)], true],
  ['nothing', [], false],
])('a manifest that reads %s: %#', (_, secrets, needed) => {
  expect(isPinNeeded({ secrets }, { path, version: 3 })).toBe(needed);
});

it.each([
  [[secretOf(2), secretOf(4), secretOf(9, `${path}2`)], 4],
  [[secretOf(null)], 0],
  [[], 0],
])('the newest version that is pinned: %#', (secrets, version) => {
  expect(newestPin({ secrets }, path)).toBe(version);
});

it('pins each reading of the secret, and leaves all else in its place', () => {
  const secrets = [
    { var: 'A', path, field: 'user' },
    { var: 'B', path: `${path}2`, field: 'f' },
    { version: 1, var: 'C', path, field: 'password' },
  ];
  const manifest = { schema: 1, sequence: 4, version: 'ü 1', secrets, compose: ['a.yaml'] };
  const [a, b, c] = secrets;
  const pinned = {
    schema: 1,
    sequence: 9,
    version: 'ü 1',
    secrets: [{ ...a, version: 3 }, b, { ...c, version: 3 }],
    compose: ['a.yaml'],
  };
  expect(pinSecret(JSON.stringify(manifest), 9, { path, version: 3 })).toBe(`${JSON.stringify(pinned, null, 2)}\n`);
});
