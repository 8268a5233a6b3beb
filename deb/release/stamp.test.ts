import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { version } from '../../src/core/commandLine.ts';
import { openReleaseWorkspace, type ReleaseWorkspace } from './workspace.ts';
import { stampInstaller } from './stamp.ts';

const installer = join(import.meta.dirname, '..', '..', 'install', 'install.sh');
const bases = {
  registry_base: 'https://registry.example/api/v4/projects/42/packages/generic/deployd',
  release_base: '',
};

let workspace: ReleaseWorkspace;
beforeAll(async () => {
  workspace = await openReleaseWorkspace();
});
afterAll(() => workspace.close());

it('stamping sets version and base URLs, and changes nothing else', async () => {
  const script = await readFile(installer, 'utf8');
  const lines = script.split('\n');
  const changed = stampInstaller(script, { version: '9.9.9', ...bases })
    .split('\n')
    .filter((line, index) => line !== lines[index]);
  expect(changed).toEqual(['version=9.9.9', `registry_base=${bases.registry_base}`]);
});

it.each(['https://a b', 'https://a;reboot', 'https://a$(id)', "https://a'", 'https://a\nb'])(
  '%j is not a valid base',
  (base) => {
    expect(() =>
      stampInstaller('version=1\nregistry_base=\nrelease_base=\n', { version: '1', ...bases, release_base: base }),
    ).toThrow('no plain address');
  },
);

it.each(['registry_base=\nrelease_base=\n', 'version=1\nversion=2\nregistry_base=\nrelease_base=\n'])(
  'a script without its variable line, or with two, is rejected',
  (script) => {
    expect(() => stampInstaller(script, { version: '1', ...bases })).toThrow(
      'the installer has no single line version=',
    );
  },
);

it('the command stamps the named file', async () => {
  const file = join(workspace.dir, 'install.sh');
  await writeFile(file, await readFile(installer));
  expect(
    await workspace.run('stamp.ts', [file, '--release-base', 'https://host.example/ops/deployd/releases/download']),
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

it('the command requires a file', async () => {
  expect(await workspace.run('stamp.ts', [])).toMatchObject({ code: 1, stderr: 'name the installer to be stamped' });
});
