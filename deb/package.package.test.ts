import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { runsAll } from '../fixtures/world/sampling/sample.ts';
import {
  buildDirectory,
  checksOfNode,
  debOf,
  digestsOfBuilds,
  lintian,
  maxBytes,
  probeCodeCache,
} from './builtPackage.ts';
import { cacheNameOf } from './package.ts';
import { buildStubPackages } from './stubPackages.ts';

const run = promisify(execFile);
const deb = debOf('deployd', 'amd64');
const name = basename(deb);
const cacheFile = join(buildDirectory, cacheNameOf(manifest.version, 'amd64'));

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

it(`passes lintian without output${runsAll ? '' : ', the checks of the program itself excepted'}`, async () => {
  const excepted = runsAll ? [] : ['--dont-check-part', checksOfNode];
  expect(await lintian(deb, ...excepted)).toEqual({ stdout: '', stderr: '' });
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
  const [first, again] = await digestsOfBuilds('amd64', buildRecord['date'] ?? '');
  expect(again).toEqual(first);
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
  expect(await probeCodeCache('amd64', join(dir, 'probe'))).toBe('accepted');
}, 300_000);

it('completes in zsh and fish', async () => {
  const share = join(dir, 'root/usr/share');
  expect(await run('zsh', ['-n', join(share, 'zsh/vendor-completions/_deployd')])).toEqual({ stdout: '', stderr: '' });
  const fish = `source ${share}/fish/vendor_completions.d/deployd.fish; complete -C 'deployd run --o'`;
  expect((await run('fish', ['--no-config', '-c', fish])).stdout).toMatch(/^--once\trun once/);
});
