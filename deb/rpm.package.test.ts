import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootDnfMachine, buildStubRpm } from '../fixtures/world/boot/dnfMachine.ts';
import type { Machine } from '../fixtures/world/boot/machine.ts';
import { createKey } from '../fixtures/world/servers/registry/packageRepository.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import type { Architecture } from './architecture.ts';
import { publishToRepository } from './release/repository.ts';

const run = promisify(execFile);
const dir = tempDir();
const hosts = readFileSync('docs/hosts.md', 'utf8');

const build = (name: string, version: string, architecture: Architecture = 'amd64') =>
  buildStubRpm(join(dir, name), version, { architecture });

let machine: Machine;
beforeAll(async () => {
  machine = await bootDnfMachine({ network: 'private', readOnlyPaths: [dir] });
  await build('old.rpm', '0.2.0');
  await build('new.rpm', '0.3.0');
}, 900_000);
afterAll(() => machine.stop());

const timer = () => machine.ok('systemctl show --value -p LoadState -p UnitFileState -p ActiveState deployd.timer');

it.each([
  ['amd64', 'x86_64'],
  ['arm64', 'aarch64'],
] as const)('the rpm for %s is one for %s, and reproducible', async (architecture, machineName) => {
  const [one, two] = [await build('one.rpm', '1', architecture), await build('two.rpm', '1', architecture)];
  expect((await run('rpm', ['-qp', '--queryformat', '%{arch}', one])).stdout).toBe(machineName);
  expect(await readFile(one)).toEqual(await readFile(two));
});

/** The tests run in order: the life of an installation. Dependencies are left out, for Debian's packages are not in the database of rpm. */
describe('by rpm', () => {
  it('an installation makes user and directories, and starts and enables nothing', async () => {
    await machine.ok(`rpm --nodeps -i ${dir}/old.rpm`);
    expect(await machine.ok("stat -c '%n %a %U:%G' /etc/deployd /var/lib/deployd")).toBe(
      '/etc/deployd 1770 root:deployd\n/var/lib/deployd 700 deployd:deployd',
    );
    expect(await timer()).toBe('loaded\ninactive\ndisabled');
    expect(await machine.ok('rpm -V --nodeps deployd')).toBe('');
  });

  it('an upgrade keeps configuration, state and timer', async () => {
    await machine.ok(`echo mine >/etc/deployd/config.yaml; touch /var/lib/deployd/store.token
      /usr/share/deployd/enable-timer.sh; rpm --nodeps -U ${dir}/new.rpm`);
    expect(await machine.ok('rpm -q --queryformat %{version} deployd')).toBe('0.3.0');
    expect(await timer()).toBe('loaded\nactive\nenabled');
    expect(await machine.ok('cat /etc/deployd/config.yaml; ls /var/lib/deployd')).toBe('mine\nstore.token');
  });

  it('a removal stops and disables the units, and keeps configuration and state', async () => {
    const { code, stderr } = await machine.run('rpm -e deployd');
    expect([code, stderr]).toEqual([0, expect.stringContaining('its configuration and state stay')]);
    expect(await timer()).toBe('not-found\ninactive');
    expect(
      await machine.ok(
        'ls -d /usr/share/deployd /usr/lib/systemd/system/deployd* /etc/systemd/system/*/deployd* 2>&1 | grep -vc "No such"; cat /etc/deployd/config.yaml; ls /var/lib/deployd',
      ),
    ).toBe('0\nmine\nstore.token');
  });
});

/** The tests run in order. */
describe('by dnf, as docs/hosts.md says', () => {
  const work = join(dir, 'repositories');
  const [, source = ''] = /^ *```ini\n(.*?)^ *```$/ms.exec(hosts) ?? [];
  const commands = [...hosts.matchAll(/^ *```sh dnf\n(.*?)^ *```$/gms)].map(([, lines = '']) => lines);
  const useRepository = async (name: string, publicKey: string) => {
    await writeFile(
      `${machine.root}/etc/yum.repos.d/deployd.repo`,
      source.replaceAll(/^ +/gm, '').replace('https://packages.example/deployd', `file://${join(work, name)}`),
    );
    await machine.copy(publicKey, '/etc/pki/rpm-gpg/deployd.asc');
    await machine.ok('dnf clean all --quiet');
  };
  const installed = () => machine.ok('rpm -q --queryformat %{version} deployd');

  beforeAll(async () => {
    const date = new Date();
    for (const name of ['ours', 'theirs', 'mixed']) {
      const keyFile = await createKey(join(dir, `${name}.asc`));
      await publishToRepository(join(work, name), { files: [join(dir, 'old.rpm')], keyFile, date });
    }
    const ours = { keyFile: join(dir, 'ours.asc'), date };
    await publishToRepository(join(work, 'mixed'), { files: [], ...ours });
    await useRepository('ours', join(work, 'ours/deployd.asc'));
  }, 120_000);

  it('it installs, upgrades and goes back', async () => {
    const [installing, changing] = commands as [string, string];
    await machine.ok(installing);
    expect(await installed()).toBe('0.2.0');
    const ours = { keyFile: join(dir, 'ours.asc'), date: new Date() };
    await publishToRepository(join(work, 'ours'), { files: [join(dir, 'new.rpm')], ...ours });
    const [upgrade = '', downgrade = ''] = changing.split('\n').map((line) => `dnf clean all --quiet && ${line}`);
    await machine.ok(upgrade);
    expect(await installed()).toBe('0.3.0');
    await machine.ok(downgrade);
    expect(await installed()).toBe('0.2.0');
    await machine.ok('rpm -e deployd');
  });

  it.each([
    ['whose index another key has signed', 'theirs', /repomd\.xml.*GPG|GPG.*repomd|Bad PGP signature/i],
    [
      'whose packages another key has signed',
      'mixed',
      /GPG check FAILED|not correct|Public key for .* is not installed/i,
    ],
  ])('it takes nothing of a repository %s', async (_what, name, message) => {
    await useRepository(name, join(work, 'ours/deployd.asc'));
    const { code, stdout, stderr } = await machine.run('dnf install --assumeyes deployd');
    expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(message)]);
  });
});
