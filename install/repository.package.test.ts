import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { debNameOf } from '../deb/architecture.ts';
import { createCa } from '../fixtures/world/servers/crypto/ca.ts';
import {
  createPublicKey,
  startPackageRepository,
  type PackageRepository,
} from '../fixtures/world/servers/registry/packageRepository.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { grant, openInstallWorld, optionsOf, token, version, type InstallWorld } from './installWorld.ts';
import { makePackage } from './packageArchive.ts';

const later = '0.3.0';
const source = 'etc/apt/sources.list.d/deployd.sources';
const dir = tempDir();
const ca = createCa();
const certificate = ca.issue(['127.0.0.1', 'localhost']);

let offer: InstallWorld;
let made: PackageRepository;
let repository: PackageRepository;
let env: Record<string, string>;
beforeAll(async () => {
  made = await startPackageRepository(certificate, await Promise.all([version, later].map(writePackage)));
}, 120_000);
afterAll(() => made.stop());
beforeEach(async () => {
  repository = await startPackageRepository(certificate, made);
  offer = await openInstallWorld();
  await useRealApt(offer);
  await offer.host.write('deployd.asc', await readFile(repository.publicKey, 'utf8'));
  env = { DEPLOYD_TOKEN: token, DEPLOYD_SOURCE: 'repository', DEPLOYD_BASE_URL: repository.url };
});
afterEach(async () => {
  await offer.close();
  await repository.stop();
});

async function writePackage(which: string): Promise<string> {
  const file = join(dir, debNameOf('deployd', which, 'amd64'));
  await writeFile(file, (await makePackage(which)).deb);
  return file;
}

/** The host gets the apt of this machine, with no other source. */
async function useRealApt({ host }: InstallWorld): Promise<void> {
  await rm(host.path('played/apt-get'));
  await host.write('apt-ca.pem', ca.pem);
  await host.write(
    'etc/apt/apt.conf.d/test',
    'APT::Sandbox::User "root";\nAcquire::https::CaInfo "/apt-ca.pem";\nDpkg::Options:: "--force-unsafe-io";\n',
  );
  for (const place of ['etc/apt/sources.list.d', 'etc/apt/preferences.d', 'var/lib/apt/lists/partial'])
    await host.write(`${place}/.keep`, '');
  await host.write('var/cache/apt/archives/partial/.keep', '');
  await cp('/usr/share/dpkg', host.path('usr/share/dpkg'), { recursive: true });
}

const install = (changes: Record<string, string | null> = {}) =>
  offer.host.install(optionsOf({ 'repository-key': '/deployd.asc', ...changes }), { env });
/** Runs it as on a host that has the repository: this is not printed. */
const again = (...options: string[]) => offer.host.install(options, { env: {} });
const installed = async () => /^Version: (.*)$/m.exec(await offer.host.read('var/lib/dpkg/status'))?.[1];

it('the installer brings its version from a repository, which the host knows from then on', async () => {
  expect(await install()).toMatchObject({ code: 0, stderr: '' });
  expect(await installed()).toBe(version);
  expect(await offer.host.read(source)).toContain(`URIs: ${repository.url}/apt\n`);
  expect(await offer.host.rights(source)).toBe('0644 root:root');
  expect(repository.requests.some(({ headers }) => JSON.stringify(headers).includes(token))).toBe(false);

  expect(await again('--version', later)).toMatchObject({ code: 0, stderr: '' });
  expect(await installed()).toBe(later);
  expect(await again('--version', version)).toMatchObject({ code: 0 });
  expect(await installed()).toBe(version);
  const before = await offer.host.read(source);
  expect((await again()).stdout).toContain(`deployd ${version} is installed`);
  expect(await offer.host.read(source)).toBe(before);
});

it('the installer gives an installed host the repository too, and another address with the same key', async () => {
  const registry = { ...offer.env, CURL_CA_BUNDLE: '/ca.pem' };
  expect(await offer.host.install(optionsOf(), { env: registry })).toMatchObject({ code: 0 });
  expect(await install()).toMatchObject({ code: 0 });
  const before = await offer.host.read(source);
  const moved = repository.url.replace('127.0.0.1', 'localhost');
  const ended = await again('--source', 'repository', '--base-url', `${moved}/`, '--version', later);
  expect(ended).toMatchObject({ code: 0 });
  expect([await installed(), await offer.host.read(source)]).toEqual([later, before.replace(repository.url, moved)]);
});

/** Runs the installer, which must change nothing; what it said. */
async function refused(changes: Record<string, string | null> = {}): Promise<[code: unknown, said: string]> {
  const before = (await offer.host.snapshot()).filter(isKept);
  const { code, stderr } = await install(changes);
  expect((await offer.host.snapshot()).filter(isKept)).toEqual(before);
  return [code, stderr.replaceAll('deployd install: ', '')];
}
const isKept = (line: string) => !/^var\/(lib|cache)\/apt\//.test(line);

describe('the installer takes nothing of a repository', () => {
  it.each<[what: string, change: () => Promise<void>]>([
    [
      'that is not signed',
      async () => {
        for (const name of ['InRelease', 'Release.gpg']) await rm(join(repository.dir, 'apt/dists/stable', name));
      },
    ],
    [
      'that was changed',
      async () => {
        const file = join(repository.dir, 'apt/dists/stable/InRelease');
        await writeFile(file, (await readFile(file, 'utf8')).replace('Label: deployd', 'Label: another'));
      },
    ],
    [
      'that another key has signed',
      async () => offer.host.write('deployd.asc', await createPublicKey(join(dir, 'other.asc'))),
    ],
  ])('%s', async (_what, change) => {
    await change();
    const [code, said] = await refused();
    expect(code).toBe(1);
    expect(said).toContain(
      `the repository at ${repository.url} is not signed by the key of --repository-key; nothing was changed:\n`,
    );
  });

  it('that cannot be reached', async () => {
    await repository.stopListening();
    const [code, said] = await refused();
    expect(code).toBe(1);
    expect(said).toContain(`the repository at ${repository.url} cannot be read; nothing was changed:\n`);
  });

  it.each([
    [
      'without a key',
      { 'repository-key': null },
      '--repository-key is missing: the public key that the repository is signed by',
    ],
    [
      'with a file that is not a key',
      { 'repository-key': '/grant' },
      '--repository-key: names no readable file with an OpenPGP public key in ASCII',
    ],
    [
      'over plain http',
      { 'base-url': 'http://packages.example' },
      '--base-url: must be an https:// URL without credentials',
    ],
  ])('%s', async (_what, changes, message) => {
    expect(await refused(changes)).toEqual([2, `nothing was changed:\n  ${message}\n`]);
  });

  it('for a version that it does not have', async () => {
    const { code, stderr } = await install({ version: '9.9.9' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('apt could not install deployd=9.9.9')]);
    expect(await installed()).toBeUndefined();
  });
});

it('the command of docs/installing.md works', async () => {
  const [, block = ''] = /^```sh repository\n(.*?)^```$/ms.exec(await readFile('docs/installing.md', 'utf8')) ?? [];
  await offer.host.write('played/sudo', '#!/bin/sh\nexec "$@"\n', 0o755);
  await offer.host.write('bootstrap.jwt', `${grant}\n`, 0o600);
  const line = block.replace('https://packages.example/deployd', repository.url);
  expect(await offer.host.install([], { shell: ['sh', '-euc', line] })).toMatchObject({ code: 0, stderr: '' });
  expect(await installed()).toBe(version);
});
