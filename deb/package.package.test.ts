import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { bundleProgram } from './bundle.ts';
import { buildExecutable } from './program/executable.ts';
import { buildStubPackages } from './stubPackages.ts';
import { openCodeCache } from './program/codeCache.ts';

const run = promisify(execFile);
const name = `deployd_${manifest.version}_amd64.deb`;
const maxBytes = 29_000_000;

const buildDirectory = 'build/package';
const deb = join(buildDirectory, name);
const cacheFile = join(buildDirectory, `deployd_${manifest.version}.cache`);

let dir: string;
let buildRecord: Record<string, string>;

beforeAll(async () => {
  await access(deb).catch(() => Promise.reject(new Error(`there is no ${deb}: run \`npm run package\` first`)));
  await run('sh', ['deb/needs.sh', 'build', 'lintian', 'shells']);
  dir = await mkdtemp(join(tmpdir(), 'deployd-package-'));
  await run('dpkg-deb', ['-x', deb, join(dir, 'root')]);
  buildRecord = JSON.parse(
    await readFile(join(dir, 'root/usr/share/doc/deployd/build.json'), 'utf8'),
  ) as typeof buildRecord;
}, 300_000);

afterAll(() => rm(dir, { recursive: true }));

it(`has at most ${maxBytes} bytes`, async () => {
  expect((await stat(deb)).size).toBeLessThanOrEqual(maxBytes);
});

it('comes with its digest, its code cache and the installer', async () => {
  expect((await run('sha256sum', ['--check', `${name}.sha256`], { cwd: buildDirectory })).stdout).toBe(`${name}: OK\n`);
  const cache = createHash('sha256')
    .update(await readFile(cacheFile))
    .digest('hex');
  expect(buildRecord).toMatchObject({ version: manifest.version, node: process.version, cache });
  expect(await readFile(join(buildDirectory, 'install.sh'))).toEqual(await readFile('install/install.sh'));
});

it('passes lintian without output', async () => {
  const how = ['--display-info', '--pedantic', '--allow-root'];
  expect(await run('lintian', [...how, deb])).toEqual({ stdout: '', stderr: '' });
}, 600_000);

it('installs neither an engine nor compose on a host that has none', async () => {
  const emptyStatus = ['--simulate', '--option', 'Dir::State::status=/dev/null'];
  const { stdout } = await run('apt-get', [...emptyStatus, 'install', resolve(deb)], { maxBuffer: 2 ** 24 });
  const packages = [...stdout.matchAll(/^Inst (\S+)/gm)].map(([, each]) => each);
  expect(packages).toContain('deployd');
  expect(packages.filter((each) => /^(docker|containerd|runc|podman|moby)/.test(each!))).toEqual([]);
});

// Compression takes longest, and the next test shows that it is reproducible.
it('is reproducible with the same code cache: in another directory, later, under another umask', async () => {
  const copy = resolve(buildDirectory, 'copy');
  const tree = ['src', 'machines', 'deb', 'install', 'fixtures', 'package.json', 'CHANGELOG.md'];
  const line = `umask 0077 && mkdir ${copy} && cp -r ${tree.join(' ')} ${copy} && cp -r --link node_modules ${copy} &&
    cache=$PWD/${cacheFile} && cd ${copy} && exec "$0" deb/package.ts --output out --quick --cache "$cache"`;
  const epoch = String(Date.parse(buildRecord['date'] ?? '') / 1000);
  const env = { ...process.env, SOURCE_DATE_EPOCH: epoch, TZ: 'Asia/Kathmandu', LC_ALL: 'C' };
  await run('sh', ['-c', line, process.execPath], { env });
  for (const part of ['--fsys-tarfile', '--ctrl-tarfile'])
    expect(await digestOf(part, join(copy, 'out', name))).toBe(await digestOf(part, deb));
  await rm(copy, { recursive: true });
}, 600_000);

it('is compressed reproducibly', async () => {
  const [one, two] = await Promise.all([
    buildStubPackages({ a: { version: '1' } }),
    buildStubPackages({ a: { version: '1' } }),
  ]);
  expect(await readFile(join(one, 'a.deb'))).toEqual(await readFile(join(two, 'a.deb')));
  for (const each of [one, two]) await rm(each, { recursive: true });
});

it('accepts the code cache', async () => {
  const { source } = await bundleProgram('src/agent/cli.ts');
  const cache = openCodeCache(await readFile(cacheFile), source);
  const probe = join(dir, 'probe');
  await buildExecutable(probe, { source, cache, loader: 'deb/program/codeCacheProbe.ts' });
  expect((await run(probe)).stdout).toBe('accepted\n');
}, 300_000);

it('completes in zsh and fish', async () => {
  const share = join(dir, 'root/usr/share');
  expect(await run('zsh', ['-n', join(share, 'zsh/vendor-completions/_deployd')])).toEqual({ stdout: '', stderr: '' });
  const fish = `source ${share}/fish/vendor_completions.d/deployd.fish; complete -C 'deployd run --o'`;
  expect((await run('fish', ['--no-config', '-c', fish])).stdout).toMatch(/^--once\tone tick/);
});

async function digestOf(part: string, deb: string): Promise<string> {
  return (await run('sh', ['-c', `dpkg-deb ${part} ${deb} | sha256sum`])).stdout;
}
