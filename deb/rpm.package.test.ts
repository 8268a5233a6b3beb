import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bootMachine, type Machine } from '../fixtures/boot/machine.ts';
import { tempDir } from '../fixtures/tempDir.ts';
import type { Architecture } from './architecture.ts';
import { staticPayload } from './payload.ts';
import { buildRpmFile } from './rpmFile.ts';

const run = promisify(execFile);
const dir = tempDir();

/** A package with everything but the program. */
async function build(name: string, version: string, architecture: Architecture = 'amd64'): Promise<string> {
  const file = join(dir, name);
  const payload = { ...staticPayload(), '/usr/bin/deployd': { text: '#!/bin/sh\n' } };
  await buildRpmFile(file, { version, date: new Date(1e12), architecture, payload, compression: 'quick' });
  return file;
}

let machine: Machine;
beforeAll(async () => {
  await run('sh', ['deb/needs.sh', 'build']);
  await build('old.rpm', '0.2.0');
  await build('new.rpm', '0.3.0');
  machine = await bootMachine({ packages: ['rpm'], network: 'private', readOnlyPaths: [dir] });
  // What Debian alone has for its scripts.
  await machine.ok('rm /usr/bin/deb-systemd-helper /usr/bin/deb-systemd-invoke');
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
