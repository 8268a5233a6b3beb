import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { openDiskProject } from './importBundle.ts';

let dir: string;
let source: string;
beforeEach(() => {
  dir = realpathSync(tempDir());
  source = join(dir, 'source');
  mkdirSync(join(source, 'conf', 'deep'), { recursive: true });
  mkdirSync(join(source, '.git'));
  writeFileSync(join(source, 'conf', 'a'), 'text');
  writeFileSync(join(source, 'conf', 'deep', 'b'), '');
  writeFileSync(join(source, '.git', 'config'), '');
  writeFileSync(join(dir, 'outside'), 'x');
});
const open = (without = '') => openDiskProject(source, without);

it('follows links inside the project only', () => {
  symlinkSync('conf/a', join(source, 'inside'));
  symlinkSync('../outside', join(source, 'leads-out'));
  symlinkSync('/etc', join(source, 'etc'));
  symlinkSync('nowhere', join(source, 'dangling'));
  symlinkSync('loop', join(source, 'loop'));
  const kinds = ['inside', 'conf', 'leads-out', 'etc', 'etc/passwd', 'dangling', 'loop', 'none', '../outside'].map(
    open().kindOf,
  );
  expect(kinds).toEqual(['file', 'directory', 'foreign', 'foreign', 'foreign', 'foreign', 'foreign', null, 'file']);
  expect(open().textOf('inside')).toBe('text');
  expect(open().textOf('leads-out')).toBeNull();
  expect(open().fileAt('inside')).toBe(join(source, 'conf', 'a'));
});

it('lists the files below a directory, except repositories and the bundle itself', () => {
  symlinkSync('../conf', join(source, 'conf', 'again'));
  symlinkSync('/etc/passwd', join(source, 'conf', 'passwd'));
  execFileSync('mkfifo', [join(source, 'conf', 'fifo')]);
  const kinds = open(join(source, 'conf', 'deep'))
    .filesBelow('.')
    ?.map(({ path, kind }) => [path, kind]);
  expect(kinds).toEqual([
    ['conf/a', 'file'],
    ['conf/fifo', 'special'],
    ['conf/passwd', 'foreign'],
  ]);
  expect(open().filesBelow('conf/deep')).toEqual([{ path: 'b', kind: 'file', size: 0 }]);
});

it('reports that there are too many files to list', () => {
  for (let index = 0; index <= 10_000; index++) writeFileSync(join(source, 'conf', 'deep', String(index)), '');
  expect(open().filesBelow('conf')).toBeNull();
});

it('reads no text of a FIFO or a large file', () => {
  execFileSync('mkfifo', [join(source, 'fifo')]);
  writeFileSync(join(source, 'large'), Buffer.alloc(2 ** 21 + 1));
  expect([open().kindOf('fifo'), open().textOf('fifo'), open().textOf('large')]).toEqual(['special', null, null]);
});
