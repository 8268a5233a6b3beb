import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { emulatedProgram } from '../fixtures/world/emulatedProgram.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { digestOf } from './digest.ts';
import { rpmNameOf } from './rpmFile.ts';
import { buildDirectory, debOf, digestsOfBuilds, lintian, maxBytes, maxKib, probeCodeCache } from './builtPackage.ts';

const run = promisify(execFile);
const packages = ['deployd', 'deployd-tenancy', 'deployctl'].map((name) => ({ name, deb: debOf(name, 'arm64') }));

beforeAll(() => run('sh', ['deb/needs.sh', 'build', 'lintian']), 300_000);

describe.each(packages)('the package $name for arm64', ({ name, deb }) => {
  it('passes lintian without output', async () => {
    expect(await lintian(deb)).toEqual({ stdout: '', stderr: '' });
  });

  it('comes with its digest', async () => {
    const { stdout } = await run('sha256sum', ['--check', `${basename(deb)}.sha256`], { cwd: buildDirectory });
    expect(stdout).toBe(`${basename(deb)}: OK\n`);
  });

  it('installs no more than the one for amd64 may', async () => {
    expect(Number((await run('dpkg-deb', ['--field', deb, 'Installed-Size'])).stdout)).toBeLessThanOrEqual(maxKib);
  });

  it('has a program that runs on arm64', async () => {
    const [command, ...args] = await emulatedProgram(name, tempDir());
    expect(await run(command, [...args, '--version'])).toEqual({ stdout: `${manifest.version}\n`, stderr: '' });
  });
});

it('the agent’s rpm for arm64 holds the same program, and comes with its digest', async () => {
  const rpm = rpmNameOf(manifest.version, 'arm64');
  const { stdout } = await run('sha256sum', ['--check', `${rpm}.sha256`], { cwd: buildDirectory });
  expect(stdout).toBe(`${rpm}: OK\n`);
  const digests = await run('rpm', ['-qp', '--queryformat', '[%{filenames} %{filedigests}\n]', rpm], {
    cwd: buildDirectory,
  });
  const [, digest] = /^\/usr\/bin\/deployd (\w+)$/m.exec(digests.stdout) ?? [];
  const dir = tempDir();
  await emulatedProgram('deployd', dir);
  expect(digest).toBe(digestOf(await readFile(join(dir, 'deployd'))));
});

describe('the agent’s package for arm64', () => {
  const deb = debOf('deployd', 'arm64');

  it(`has at most ${maxBytes} bytes`, async () => {
    expect((await stat(deb)).size).toBeLessThanOrEqual(maxBytes);
  });

  it('accepts its code cache', async () => {
    expect(await probeCodeCache('arm64', join(tempDir(), 'probe'))).toBe('accepted');
  });

  it('is reproducible with the same code cache: in another directory, later, under another umask', async () => {
    const root = tempDir();
    await run('dpkg-deb', ['-x', deb, root]);
    const record = await readFile(join(root, 'usr/share/doc/deployd/build.json'), 'utf8');
    const [first, again] = await digestsOfBuilds('arm64', (JSON.parse(record) as { date: string }).date);
    expect(again).toEqual(first);
  });
});
