import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

const dir = tempDir();
const init = (directory: string, env = 'eu-1', ...more: string[]) =>
  deployctl(['bundle', 'init', directory, '--env', env, ...more]);

it('makes a directory of which nothing is refused, and which is packed', async () => {
  const shop = join(dir, 'work', 'shop');
  expect(await init(shop)).toEqual({
    exit: 0,
    stderr: '',
    stdout: `bundle     shop, for environment eu-1\ndirectory  ${shop}\nfiles      manifest.json, compose.yaml\n`,
  });
  const checked = await deployctl(['bundle', 'verify', shop]);
  expect(checked).toMatchObject({ exit: 0, stderr: '' });
  expect(checked.stdout).toMatch(/^nothing is refused\n {2}bundle +shop 1, sequence 1, for environment eu-1\n/);
  expect(await deployctl(['bundle', 'pack', shop, '--out', join(dir, 'shop.tar.gz')])).toMatchObject({ exit: 0 });
});

it('reports the created files as JSON', async () => {
  const directory = join(dir, 'told');
  const { stdout } = await init(directory, 'eu-1', '--json');
  expect(JSON.parse(stdout)).toEqual({
    directory,
    env: 'eu-1',
    name: 'told',
    files: ['manifest.json', 'compose.yaml'],
  });
});

it.each(['manifest.json', 'compose.yaml'])('does not change a directory that has a %s', async (name) => {
  const own = join(dir, `own-${name}`);
  await mkdir(own);
  await writeFile(join(own, name), 'mine');
  const { exit, stdout, stderr } = await init(own);
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  expect(stderr).toMatch(/^deployctl: FILE_EXISTS: .* is there already\n {2}→ /);
  expect(await readdir(own)).toEqual([name]);
  expect(await readFile(join(own, name), 'utf8')).toBe('mine');
});

it.each([
  ['an env that is not a name', 'shop-2', 'Eu_1', 2, 'MANIFEST_INVALID: env: must be the name of an environment'],
  ['a directory that is not a name', 'x'.repeat(201), 'eu-1', 2, 'MANIFEST_INVALID: name: must be a name'],
  ['a directory below a file', 'file/shop', 'eu-1', 1, 'FILE_UNWRITABLE: '],
])('%s ends with its code, and nothing is made', async (_, name, env, exit, code) => {
  await writeFile(join(dir, 'file'), '');
  const before = await readdir(dir);
  expect(await init(join(dir, name), env)).toMatchObject({
    exit,
    stdout: '',
    stderr: expect.stringContaining(`deployctl: ${code}`) as string,
  });
  expect(await readdir(dir)).toEqual(before);
});
