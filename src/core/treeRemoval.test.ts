import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicMs } from './clock.ts';
import { removeTree } from './treeRemoval.ts';

let dir: string;
let tree: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'removal-'));
  tree = join(dir, 'tree');
  mkdirSync(join(tree, 'sub', 'deeper'), { recursive: true });
  for (let number = 0; number < 1000; number++) writeFileSync(join(tree, 'sub', String(number)), '');
});
afterEach(() => execFileSync('rm', ['-rf', dir]));

const never = new AbortController().signal;
const patient = () => ({ signal: never, untilMs: Date.now() + 60_000 });

it('removes a directory tree, a file and a link', async () => {
  writeFileSync(join(dir, 'file'), '');
  expect(await removeTree(tree, patient())).toBe('gone');
  expect(await removeTree(join(dir, 'file'), patient())).toBe('gone');
  expect(await removeTree(tree, patient())).toBe('gone');
  expect(readdirSync(dir)).toEqual([]);
});

it('removes names that are not valid UTF-8', async () => {
  writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xc3])]), '');
  expect(await removeTree(tree, patient())).toBe('gone');
  expect(readdirSync(dir)).toEqual([]);
});

it('follows no symbolic link', async () => {
  mkdirSync(join(dir, 'theirs'));
  writeFileSync(join(dir, 'theirs', 'kept'), '');
  symlinkSync('../../theirs', join(tree, 'sub', 'link'));
  symlinkSync('theirs', join(dir, 'link'));
  expect(await removeTree(tree, patient())).toBe('gone');
  expect(await removeTree(join(dir, 'link'), patient())).toBe('gone');
  expect(readdirSync(dir)).toEqual(['theirs']);
  expect(readdirSync(join(dir, 'theirs'))).toEqual(['kept']);
});

it('stops at its deadline and on abort', async () => {
  expect(await removeTree(tree, { signal: never, untilMs: monotonicMs() - 1 })).toBe('unfinished');
  expect(await removeTree(tree, { signal: AbortSignal.abort(), untilMs: Infinity })).toBe('unfinished');
  expect(readdirSync(join(tree, 'sub')).length).toBeGreaterThan(900);
});

it('removes directories deeper than the longest path, in several calls', async () => {
  const script = 'i=0; while [ $i -lt 60 ]; do mkdir "$0" && cd "$0" || exit 1; i=$((i+1)); done';
  execFileSync('bash', ['-c', script, 'd'.repeat(200)], { cwd: join(tree, 'sub') });
  expect(await removeTree(tree, patient())).toBe('gone');
  for (let round = 0; round < 10 && readdirSync(dir).length > 0; round++)
    for (const name of readdirSync(dir)) expect(await removeTree(join(dir, name), patient())).toBe('gone');
  expect(readdirSync(dir)).toEqual([]);
});

it('returns `stuck` if it may not remove something', async () => {
  expect(await removeTree('/proc/self/attr', patient())).toBe('stuck');
  rmSync(tree, { recursive: true });
});
