import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '../deb/digest.ts';
import { rpmNameOf } from '../deb/rpmFile.ts';
import { bootDnfMachine, buildStubRpm, stubAgent } from '../fixtures/world/boot/dnfMachine.ts';
import type { CommandResult, Machine } from '../fixtures/world/boot/machine.ts';
import { createCa } from '../fixtures/world/servers/crypto/ca.ts';
import { startPackageRegistry, type PackageRegistry } from '../fixtures/world/servers/registry/packageRegistry.ts';
import {
  createPublicKey,
  startPackageRepository,
  type PackageRepository,
} from '../fixtures/world/servers/registry/packageRepository.ts';
import { startReleaseHost, type ReleaseHost } from '../fixtures/world/servers/registry/releaseHost.ts';
import { sampleOf, tellSample } from '../fixtures/world/sampling/sample.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { grant, optionsOf, token, version } from './installWorld.ts';

const later = '0.3.0';
const authority = '/usr/local/share/ca-certificates/fixture.crt';
const dir = tempDir();
const ca = createCa();

let machine: Machine;
let packages: PackageRegistry;
let releases: ReleaseHost;
let repository: PackageRepository;
beforeAll(async () => {
  machine = await bootDnfMachine();
  const rpms = await Promise.all(
    [version, later].map((each) => buildStubRpm(join(dir, rpmNameOf(each, 'amd64')), each, { program: stubAgent })),
  );
  const certificate = ca.issue(['127.0.0.1', 'localhost']);
  packages = await startPackageRegistry(certificate);
  packages.tokens.set(token, 'read');
  releases = await startReleaseHost(certificate);
  await Promise.all([version, later].map(offer));
  repository = await startPackageRepository(certificate, rpms);
  await writeFile(join(dir, 'ca.pem'), ca.pem);
  await writeFile(`${machine.root}/grant`, `${grant}\n`, { mode: 0o600 });
  await machine.copy(join(dir, 'ca.pem'), authority);
  await machine.ok('update-ca-certificates');
  await machine.copy('install/install.sh', '/install.sh');
  // The installer is run more often than systemd lets a unit start. A reload resets this limit only on Debian 12.
  await machine.ok('mkdir /etc/systemd/system/deployd.service.d');
  await writeFile(
    `${machine.root}/etc/systemd/system/deployd.service.d/often.conf`,
    '[Unit]\nStartLimitIntervalSec=0\n',
  );
}, 900_000);
afterAll(async () => {
  await Promise.all([packages, releases, repository].map((server) => server.stop()));
  await machine.stop();
});

/** Offers the package by registry and release host. */
async function offer(which: string, id: number): Promise<void> {
  const name = rpmNameOf(which, 'amd64');
  const bytes = await readFile(join(dir, name));
  const assets = { [name]: bytes, [`${name}.sha256`]: Buffer.from(`${digestOf(bytes)}  ${name}\n`) };
  for (const [file, content] of Object.entries(assets)) packages.files.set(`deployd/${which}/${file}`, content);
  const attached = Object.entries(assets).map(([file, content], index) => ({ id: index, name: file, bytes: content }));
  releases.releases.push({ id, tag: `v${which}`, name: '', body: '', assets: attached });
}

const run = (...options: string[]): Promise<CommandResult> =>
  machine.run(`DEPLOYD_TOKEN=${token} exec sh /install.sh ${options.join(' ')}`);
const installed = () => machine.ok('rpm -q --queryformat %{version} deployd || :');
const done = (which: string) => ({
  code: 0,
  stderr: expect.not.stringContaining('deployd install') as string,
  stdout: expect.stringContaining(`done: deployd ${which}`) as string,
});
const forget = () => machine.ok('rpm -e deployd && rm -rf /etc/deployd /var/lib/deployd');
const fromRegistry = () => optionsOf({ 'base-url': packages.base });

/** Runs the installer, which must change nothing; what it said. */
async function refused(...options: string[]): Promise<string> {
  const state = () => machine.ok('rpm -qa; find /etc /var/cache/deployd-install -type f -exec sha256sum {} +; :');
  const before = await state();
  const { code, stderr } = await run(...options);
  expect([code, await state()]).toEqual([expect.any(Number), before]);
  expect(code).not.toBe(0);
  return stderr.replaceAll('deployd install: ', '');
}

/** The tests of a group run in order: the life of a host. */
describe('on a host that says it is of dnf’s family, though it has apt too, the installer', () => {
  it('refuses another architecture before anything is changed', async () => {
    await machine.ok('mkdir -p /etc/rpm && echo "%_arch riscv64" >/etc/rpm/macros.test');
    expect(await refused(...fromRegistry())).toBe('deployd is packaged for x86_64 and aarch64, not for riscv64\n');
    await machine.ok('rm /etc/rpm/macros.test');
  });

  it('refuses a package with another checksum before anything is changed', async () => {
    const file = `deployd/${version}/${rpmNameOf(version, 'amd64')}`;
    const was = packages.files.get(file)!;
    packages.files.set(file, Buffer.concat([was, Buffer.from('x')]));
    expect(await refused(...fromRegistry())).toMatch(/does not have the checksum it was published with/);
    packages.files.set(file, was);
  });

  it('brings the rpm from the registry, and a timer that ticks', async () => {
    expect(await run(...fromRegistry())).toMatchObject(done(version));
    expect(await installed()).toBe(version);
    expect(await machine.ok('systemctl is-enabled deployd.timer; dpkg-query -W deployd 2>&1 | tail -n 1')).toBe(
      'enabled\ndpkg-query: no packages found matching deployd',
    );
    expect(await machine.ok('cat /var/lib/deployd/store.token; ls /var/cache')).not.toContain('deployd-install');
  });

  it('downloads nothing again, changes the version on request, and keeps a newer one', async () => {
    const requests = packages.requests.length;
    expect(await run()).toMatchObject(done(version));
    expect(packages.requests).toHaveLength(requests);
    expect(await run('--version', later, '--base-url', packages.base)).toMatchObject(done(later));
    expect(await run()).toMatchObject(done(later));
    expect(await run('--version', version, '--base-url', packages.base)).toMatchObject(done(version));
    expect(await installed()).toBe(version);
    await forget();
  });

  it('brings it from the release host', async () => {
    expect(await run(...optionsOf({ source: 'gitea', 'base-url': releases.base }))).toMatchObject(done(version));
    expect(await installed()).toBe(version);
    await forget();
  });
});

describe('from a repository the installer', () => {
  const index = 'dnf/repodata/repomd.xml';
  const files = '/etc/yum.repos.d/deployd.repo /etc/pki/rpm-gpg/deployd.asc';
  const fromRepository = (changes: Record<string, string | null> = {}) => {
    const given = { source: 'repository', 'base-url': repository.url, 'repository-key': '/deployd.asc', ...changes };
    return optionsOf(given);
  };
  const useKey = async (key: string) => writeFile(`${machine.root}/deployd.asc`, key);
  beforeEach(async () => useKey(await readFile(repository.publicKey, 'utf8')));

  const changes: [what: string, change: (file: string) => Promise<void>][] = [
    ['is not signed', async (file) => rm(`${file}.asc`)],
    [
      'was changed',
      async (file) => writeFile(file, (await readFile(file, 'utf8')).replace('</revision>', '0</revision>')),
    ],
    ['another key has signed', async () => useKey(await createPublicKey(join(dir, 'other.asc')))],
  ];
  const sample = sampleOf(changes, 1);
  tellSample('what a repository for dnf may have', sample, changes);
  it.each(sample)('takes nothing of one that %s', async (_what, change) => {
    await change(join(repository.dir, index));
    expect(await refused(...fromRepository())).toContain(
      `the repository at ${repository.url} is not signed by the key of --repository-key; nothing was changed:\n`,
    );
    await repository.add();
  });

  it('takes nothing of one that cannot be reached, or without a key', async () => {
    expect(await refused(...fromRepository({ 'base-url': `${repository.url}/nowhere` }))).toContain(
      `the repository at ${repository.url}/nowhere cannot be read; nothing was changed:\n`,
    );
    expect(await refused(...fromRepository({ 'repository-key': null }))).toBe(
      'nothing was changed:\n  --repository-key is missing: the public key that the repository is signed by\n',
    );
  });

  it('brings its version, which the host knows from then on', async () => {
    expect(await run(...fromRepository())).toMatchObject(done(version));
    expect(await installed()).toBe(version);
    expect(await machine.ok(`stat -c '%a %U:%G' ${files}`)).toBe('644 root:root\n644 root:root');
    expect(repository.requests.some(({ headers }) => JSON.stringify(headers).includes(token))).toBe(false);
  });

  it('goes up, back and to another address with the same key, and changes nothing else', async () => {
    expect(await run('--version', later)).toMatchObject(done(later));
    expect(await run('--version', version)).toMatchObject(done(version));
    const before = await machine.ok(`cat ${files}`);
    expect(await run()).toMatchObject(done(version));
    expect(await machine.ok(`cat ${files}`)).toBe(before);
    const moved = repository.url.replace('127.0.0.1', 'localhost');
    const ended = await run('--source', 'repository', '--base-url', `${moved}/`, '--version', later);
    expect(ended).toMatchObject(done(later));
    expect(await machine.ok(`cat ${files}`)).toBe(before.replace(repository.url, moved));
  });

  it('keeps the version that the host is pinned to through its upgrades, and changes it on request', async () => {
    await machine.ok(`echo includepkgs=deployd-${version} >>/etc/yum.repos.d/deployd.repo`);
    expect(await run(...fromRepository(), '--version', version)).toMatchObject(done(version));
    await machine.ok('dnf --quiet --assumeyes --refresh upgrade');
    expect(await installed()).toBe(version);
    expect(await run('--version', later)).toMatchObject(done(later));
    expect(await machine.ok('cat /etc/yum.repos.d/deployd.repo')).toContain(`includepkgs=deployd-${version}`);
  });

  it('says which version the repository does not have', async () => {
    const { code, stderr } = await run('--version', '9.9.9');
    expect([code, stderr]).toEqual([1, expect.stringContaining('dnf could not install deployd-9.9.9: see above')]);
    expect(await installed()).toBe(later);
  });
});
