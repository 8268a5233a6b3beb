import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../src/version.ts';
import { openReleaseStage, type ReleaseStage } from './stage.ts';
import { stamped } from './stamp.ts';

const installer = join(import.meta.dirname, '..', '..', 'install', 'install.sh');
const bases = {
  registry_base: 'https://registry.example/api/v4/projects/42/packages/generic/deployd',
  release_base: '',
};

let stage: ReleaseStage;
beforeAll(async () => {
  stage = await openReleaseStage();
});
afterAll(() => stage.close());

it('the installer learns its version and where it came from, and nothing else changes', async () => {
  const script = await readFile(installer, 'utf8');
  const lines = script.split('\n');
  const changed = stamped(script, { version: '9.9.9', ...bases })
    .split('\n')
    .filter((line, index) => line !== lines[index]);
  expect(changed).toEqual(['version=9.9.9', `registry_base=${bases.registry_base}`]);
});

it.each(['https://a b', 'https://a;reboot', 'https://a$(id)', "https://a'", 'https://a\nb'])(
  '%j is no base',
  (base) => {
    expect(() =>
      stamped('version=1\nregistry_base=\nrelease_base=\n', { version: '1', ...bases, release_base: base }),
    ).toThrow('no plain address');
  },
);

it.each(['registry_base=\nrelease_base=\n', 'version=1\nversion=2\nregistry_base=\nrelease_base=\n'])(
  'a script without its line, or with two, is refused',
  (script) => {
    expect(() => stamped(script, { version: '1', ...bases })).toThrow('the installer has no single line version=');
  },
);

it('the command stamps the file that is named', async () => {
  const file = join(stage.dir, 'install.sh');
  await writeFile(file, await readFile(installer));
  expect(
    await stage.run('stamp.ts', [file, '--release-base', 'https://host.example/ops/deployd/releases/download']),
  ).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  const script = await readFile(file, 'utf8');
  expect(script).toContain(
    `\nversion=${version}\nregistry_base=\nrelease_base=https://host.example/ops/deployd/releases/download\n`,
  );
});

it('the command wants a file', async () => {
  expect(await stage.run('stamp.ts', [])).toMatchObject({ code: 1, stderr: 'name the installer to be stamped' });
});
