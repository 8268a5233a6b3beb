import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import {
  createKey,
  createPublicKey,
  type PackageRepository,
  startPackageRepository,
} from '../../fixtures/world/servers/registry/packageRepository.ts';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { version } from '../../src/core/commandLine.ts';
import { type Architecture, architectures, debNameOf } from '../architecture.ts';
import { publishToRepository } from './repository.ts';
import { writeStubRelease } from './stubRelease.ts';

interface Job {
  script: string[];
}

const run = promisify(execFile);
const work = tempDir();
const ca = createCa();
const certificate = ca.issue(['127.0.0.1']);
const before = '0.1.9';
const build = join(work, 'build');
const names = ['deployctl', 'deployd', 'deployd-tenancy'];

let older: string[];
let newer: string[];
let made: PackageRepository;
let repository: PackageRepository;
beforeAll(async () => {
  await run('sh', ['deb/needs.sh', 'build', 'repository']);
  await writeFile(join(work, 'ca.pem'), ca.pem);
  older = await writeStubRelease(join(work, 'older'), before);
  newer = await writeStubRelease(build, version);
  made = await startPackageRepository(certificate, older);
}, 120_000);
afterAll(() => made.stop());
beforeEach(async () => {
  repository = await startPackageRepository(certificate, made);
});
afterEach(() => repository.stop());

/** apt of a host of an architecture that has only this source, and trusts it by the key in the file. */
async function hostOf(architecture: Architecture, key = repository.publicKey) {
  const root = await mkdir(join(work, `host-${architecture}-${Math.random()}`), { recursive: true });
  const at = (path: string) => join(root!, path);
  for (const dir of ['etc/sources.list.d', 'lists/partial', 'cache/archives/partial'])
    await mkdir(at(dir), { recursive: true });
  await writeFile(at('status'), '');
  await cp(key, at('key.asc'));
  const source = `Types: deb\nURIs: ${repository.url}/apt\nSuites: stable\nComponents: main\nSigned-By: ${at('key.asc')}\n`;
  await writeFile(at('etc/sources.list.d/deployd.sources'), source);
  const settings = {
    'Dir::Etc': at('etc'),
    'Dir::State::Lists': at('lists'),
    'Dir::State::Status': at('status'),
    'Dir::Cache': at('cache'),
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::https::CaInfo': join(work, 'ca.pem'),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (program: string, ...args: string[]) => run(program, [...options, ...args], { cwd: root });
  return {
    at,
    update: () => apt('apt-get', 'update'),
    versions: async (name: string) => {
      const rows = (await apt('apt-cache', 'madison', name)).stdout.trim().split('\n');
      return rows.map((row) => row.split('|')[1]!.trim());
    },
    download: (name: string) => apt('apt-get', 'download', name),
  };
}

/** Every file of a repository but the signatures, with its content. */
async function unsigned(dir: string): Promise<Record<string, string>> {
  const { stdout } = await run('sh', ['-c', 'cd "$1/" && find . -type f | sort | xargs sha256sum', 'sh', dir]);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.split('  '));
  return Object.fromEntries(
    lines
      .filter(([, file = '']) => !/\.asc$|\.gpg$|InRelease$/.test(file))
      .map(([digest = '', file = '']) => [file, digest]),
  );
}

describe('a host with apt', () => {
  it.each(architectures)('of %s finds the newest version of each package, and those before', async (architecture) => {
    await repository.add(...newer);
    const host = await hostOf(architecture);
    await host.update();
    for (const name of names) expect([name, await host.versions(name)]).toEqual([name, [version, before]]);
    await host.download(`deployd=${before}`);
    const file = debNameOf('deployd', before, architecture);
    expect(await readFile(host.at(file))).toEqual(await readFile(join(work, 'older', file)));
  });

  it.each<[what: string, change: () => Promise<unknown>]>([
    ['not signed', () => run('sh', ['-c', 'rm "$1"/InRelease "$1"/Release.gpg', 'sh', stable()])],
    [
      'changed in its signed index',
      () => run('sed', ['-i', 's/^Label: deployd/Label: another/', join(stable(), 'InRelease')]),
    ],
    [
      'changed in its list of packages',
      () => run('sh', ['-c', 'for f in $(find "$1" -path "*/main/*" -type f); do echo x >>"$f"; done', 'sh', stable()]),
    ],
  ])('takes nothing of a repository that is %s', async (_what, change) => {
    await change();
    await expect((await hostOf('amd64')).update()).rejects.toMatchObject({ code: 100 });
  });

  it('takes nothing of a repository that another key has signed', async () => {
    const other = join(work, 'other.asc');
    await writeFile(other, await createPublicKey(join(work, 'other-secret.asc')));
    await expect((await hostOf('amd64', other)).update()).rejects.toMatchObject({
      stderr: expect.stringContaining('NO_PUBKEY') as string,
    });
  });

  it('does not take a package that was changed', async () => {
    const host = await hostOf('amd64');
    await host.update();
    await appendFile(join(repository.dir, 'apt/pool/main/deployd', debNameOf('deployd', before, 'amd64')), 'x');
    await expect(host.download('deployd')).rejects.toMatchObject({ code: 100 });
  });

  it('that has read the index finds what it names while a version is published', async () => {
    const index = `${repository.url}/apt/dists/stable/main/binary-amd64/by-hash/SHA256`;
    const [, digest] = /SHA256:\n (\w+) +\d+ main\/binary-amd64\/Packages\n/.exec(
      await readFile(join(stable(), 'InRelease'), 'utf8'),
    )!;
    await repository.add(...newer);
    const get = ['--silent', '--fail', '--cacert', join(work, 'ca.pem'), `${index}/${digest}`];
    expect((await run('curl', get)).stdout).toContain(`Version: ${before}`);
  });
});

const stable = () => join(repository.dir, 'apt/dists/stable');

describe('publishing', () => {
  it('the same at the same time writes the same, signatures excepted', async () => {
    const options = { keyFile: repository.secretKey, date: new Date(1e12) };
    await publishToRepository(join(work, 'one'), { ...options, files: [...older, ...newer] });
    await publishToRepository(join(work, 'two'), { ...options, files: older });
    await publishToRepository(join(work, 'two'), { ...options, files: newer });
    const [one, two] = [await unsigned(join(work, 'one')), await unsigned(join(work, 'two'))];
    const kept = /by-hash|repodata\/\w+-|dnf\/packages/; // of the previous state, and packages that contain a signature
    const compared = (files: object) =>
      Object.entries(files).filter(([file]) => !kept.test(file) && !file.endsWith('repomd.xml'));
    expect(compared(two)).toEqual(compared(one));
    expect(compared(one).length).toBeGreaterThan(12);
  });

  it('again changes no package, and a version keeps its content', async () => {
    const rpm = join(repository.dir, 'dnf/packages', `deployd-${before}.x86_64.rpm`);
    const was = await readFile(rpm);
    await repository.add(...older);
    expect(await readFile(rpm)).toEqual(was);
    const index = await readFile(join(stable(), 'InRelease'));
    for (const format of ['deb', 'rpm']) {
      const others = await writeStubRelease(join(work, 'others'), before, '#!/bin/sh\nexit 1\n');
      const publishing = repository.add(...others.filter((file) => file.endsWith(format)));
      await expect(publishing).rejects.toThrow(
        /^deployd[_-]0\.1\.9.* is in the repository already with other content: raise the version, for hosts may have it$/,
      );
    }
    expect(await readFile(join(stable(), 'InRelease'))).toEqual(index);
  });

  it('leaves two folders at most, whose files everybody may read', async () => {
    for (let times = 0; times < 3; times += 1) await repository.add(...newer);
    expect((await readdir(join(repository.dir, '..'))).sort()).toEqual(['secret.asc', 'www', 'www.1', 'www.2']);
    const { stdout } = await run('find', [`${repository.dir}/`, '!', '-perm', '-004']);
    expect(stdout).toBe('');
  });
});

describe('the command', () => {
  const publish = async (repositoryDir: string, env: Record<string, string> = {}, dir = build) => {
    const args = ['deb/release/repository.ts', '--repository', repositoryDir, '--dir', dir];
    const given = { PATH: process.env['PATH'] ?? '', REPOSITORY_KEY: repository.secretKey, ...env };
    return run(process.execPath, args, { env: given }).catch(
      (error: unknown) => error as { code: number; stderr: string },
    );
  };
  const keyring = (dir: string) => join(work, dir);

  it.each<[what: string, message: string, env: () => Promise<Record<string, string>>]>([
    ['no key', 'no key: set REPOSITORY_KEY to the file of an OpenPGP secret key', async () => ({ REPOSITORY_KEY: '' })],
    [
      'no such file',
      '/nowhere is not an OpenPGP key: write it with gpg --export-secret-keys --armor',
      async () => ({ REPOSITORY_KEY: '/nowhere' }),
    ],
    [
      'a public key',
      'holds 0 secret keys: give the one that the repository is signed by',
      async () => ({ REPOSITORY_KEY: repository.publicKey }),
    ],
    [
      'two keys',
      'holds 2 secret keys: give the one that the repository is signed by',
      async () => {
        const [one, two] = [await createKey(keyring('one.asc')), await createKey(keyring('two.asc'))];
        await writeFile(keyring('both.asc'), (await readFile(one, 'utf8')) + (await readFile(two, 'utf8')));
        return { REPOSITORY_KEY: keyring('both.asc') };
      },
    ],
    [
      'a key with a passphrase',
      'cannot sign: it has a passphrase, or is expired or revoked',
      async () => ({ REPOSITORY_KEY: await createKey(keyring('locked.asc'), 'a-passphrase') }),
    ],
  ])('refuses %s, and writes nothing', async (_what, message, env) => {
    const ended = await publish(join(work, 'none'), await env());
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(RegExp(`^[^\\n]*${message}\\n$`)) as string });
    await expect(stat(join(work, 'none'))).rejects.toThrow('ENOENT');
  });

  it('refuses a directory that it has not made', async () => {
    await mkdir(join(work, 'precious'));
    expect(await publish(join(work, 'precious'))).toMatchObject({
      code: 1,
      stderr: `${join(work, 'precious')} is not a repository that this command made: name another place, or move it away\n`,
    });
  });

  it('refuses what is not a package, and what is not the version that was built', async () => {
    const dir = join(work, 'broken');
    await cp(build, dir, { recursive: true });
    const file = join(dir, debNameOf('deployd', version, 'amd64'));
    await writeFile(file, 'no package');
    expect(await publish(repository.dir, {}, dir)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not the checksum of') as string,
    });
    const publishing = publishToRepository(repository.dir, {
      files: [file],
      keyFile: repository.secretKey,
      date: new Date(),
    });
    await expect(publishing).rejects.toThrow(`${file} is not a package: build it again (npm run package)`);
    expect(await (await listed()).versions('deployd')).toEqual([before]);
  });

  const listed = async () => {
    const host = await hostOf('amd64');
    await host.update();
    return host;
  };

  it('is a job of the pipeline, where a runner has the directory', async () => {
    const { 'publish-repository': job } = parse(readFileSync('.gitlab-ci.yml', 'utf8')) as Record<string, Job>;
    const variables = { REPOSITORY_KEY: repository.secretKey, REPOSITORY_DIR: repository.dir, PACKAGE_DIR: build };
    await run('sh', ['-euc', ['umask 000', ...job!.script].join('\n')], {
      env: { PATH: process.env['PATH'], ...variables },
    });
    expect(await (await listed()).versions('deployd')).toEqual([version, before]);
    expect((await run('find', [`${repository.dir}/`, '-perm', '/022'])).stdout).toBe('');
  });

  it('works as docs/releasing.md says', async () => {
    const blocks = [...readFileSync('docs/releasing.md', 'utf8').matchAll(/^ *```sh repository\n(.*?)^ *```$/gms)];
    expect(blocks).toHaveLength(2);
    await rm(repository.secretKey);
    const places = {
      'build/package': build,
      '/srv/www/deployd': repository.dir,
      'repository-key.asc': repository.secretKey,
    };
    for (const [, block = ''] of blocks) {
      const line = Object.entries(places).reduce((text, [name, place]) => text.replaceAll(name, place), block);
      await run('sh', ['-euc', line], { env: { ...process.env, GNUPGHOME: tempDir() } });
    }
    expect(await (await listed()).versions('deployd')).toEqual([version, before]);
  });
});
