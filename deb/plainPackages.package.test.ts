import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildLaterService, type LaterService } from '../fixtures/world/boot/laterPackage.ts';
import { bootMachine, type Machine } from '../fixtures/world/boot/machine.ts';
import { tempDir } from '../fixtures/world/tempDir.ts';
import { buildDirectory, checksOfNode, debOf, lintian, maxKib } from './builtPackage.ts';
import { plainPackages } from './plainPackages.ts';

const run = promisify(execFile);
const dir = resolve(buildDirectory);
const debs = plainPackages.map(({ control }) => resolve(debOf(control.name, 'amd64')));
const [tenancyDeb = '', ctlDeb = ''] = debs;

let machine: Machine;
let later: LaterService;
beforeAll(async () => {
  for (const deb of debs)
    await access(deb).catch(() => Promise.reject(new Error(`there is no ${deb}: run \`npm run package\` first`)));
  later = await buildLaterService(tenancyDeb, tempDir());
  machine = await bootMachine({ network: 'private', readOnlyPaths: [dir, dirname(later.file)] });
}, 900_000);
afterAll(() => machine.stop());

it.each(debs.map((deb) => ({ name: basename(deb), deb })))(
  '$name passes lintian without output',
  async ({ deb }) => {
    await run('sh', ['deb/needs.sh', 'build', 'lintian']);
    // the program is the same Node as in the agent's package
    expect(await lintian(deb, '--dont-check-part', checksOfNode)).toEqual({ stdout: '', stderr: '' });
  },
  600_000,
);

it(`each installs at most ${maxKib} KiB, and has its digest, as deployctl in one file has`, async () => {
  for (const deb of debs) {
    const { stdout } = await run('dpkg-deb', ['--field', deb, 'Installed-Size']);
    expect(Number(stdout)).toBeLessThanOrEqual(maxKib);
  }
  for (const file of [...debs, 'deployctl.cjs']) await run('sha256sum', ['--check', `${file}.sha256`], { cwd: dir });
});

const config = `public_url: http://127.0.0.1:443
listen: 127.0.0.1:443
secretstore_url: http://127.0.0.1:8200
`;

/** The tests run in order: the life of an installation. */
describe('on a Debian system', () => {
  it('the packages install with only the programs of every system, and start nothing', async () => {
    await machine.ok(`dpkg -i ${tenancyDeb} ${ctlDeb}`);
    expect(await machine.ok('systemctl show --value -p ActiveState -p UnitFileState deployd-tenancy')).toMatch(
      /inactive\ndisabled|disabled\ninactive/,
    );
    const made = await machine.ok(`stat -c '%n %a %U:%G' /etc/deployd-tenancy /var/lib/deployd-tenancy`);
    expect(made.split('\n')).toEqual([
      '/etc/deployd-tenancy 750 root:deployd-tenancy',
      '/var/lib/deployd-tenancy 700 deployd-tenancy:deployd-tenancy',
    ]);
  });

  it('the service is initialized and serves, on a port below 1024, as its own user', async () => {
    await machine.ok(`printf '%s' '${config}' >/etc/deployd-tenancy/config.yaml
      chgrp deployd-tenancy /etc/deployd-tenancy/config.yaml; chmod 640 /etc/deployd-tenancy/config.yaml
      umask 077; deployd-tenancy init >/root/token; systemctl enable --now deployd-tenancy`);
    await machine.until('curl -fsS http://127.0.0.1:443/healthz', 20);
    const owner = 'stat -c %U /proc/$(systemctl show --value -p MainPID deployd-tenancy)';
    expect(await machine.ok(owner)).toBe('deployd-tenancy');
    expect(await machine.ok('find /var/lib/deployd-tenancy ! -user deployd-tenancy')).toBe('');
    expect((await machine.journal('deployd-tenancy.service')).join('\n')).toContain('"message":"serving"');
  });

  it('deployctl works with it', async () => {
    await machine.ok('deployctl login http://127.0.0.1:443 </root/token');
    const env = JSON.parse(await machine.ok('deployctl env create eu-1 --json')) as object;
    expect(env).toMatchObject({ name: 'eu-1', production: false });
  });

  it('doctor, as root, misses only the secretstore, and leaves no file of root', async () => {
    const { code, stdout } = await machine.run('deployd-tenancy doctor --json');
    const { checks } = JSON.parse(stdout) as { checks: { name: string; verdict: string }[] };
    const wrong = checks.filter(({ verdict }) => verdict === 'wrong').map(({ name }) => name);
    expect([code, wrong]).toEqual([1, ['secretstore']]);
    expect(await machine.ok('find /var/lib/deployd-tenancy ! -user deployd-tenancy')).toBe('');
  });

  it('the unit is closed', async () => {
    // 0.2 of it for setpriority, by which the threads that check archives lower their priority
    const output = await machine.ok('systemd-analyze security --threshold=18 deployd-tenancy.service');
    expect(output).toMatch(/exposure level for deployd-tenancy\.service: 1\.[0-8] /);
  });

  it('a restart ends in order', async () => {
    await machine.ok('systemctl restart deployd-tenancy');
    await machine.until('curl -fsS http://127.0.0.1:443/healthz', 20);
    expect((await machine.journal('deployd-tenancy.service')).join('\n')).toContain('"message":"stopping"');
    expect(await machine.ok('deployctl env list --json')).toContain('eu-1');
  });

  it('an upgrade migrates the store and keeps what is in it; the version before refuses the migrated store', async () => {
    const { file, version, migration } = later;
    const logged = async () => (await machine.journal('deployd-tenancy.service')).join('\n');
    await machine.ok(`dpkg -i ${file}`);
    await machine.until('curl -fsS http://127.0.0.1:443/healthz', 20);
    expect(await logged()).toContain(`migrated the store: ${migration}`);
    expect(await machine.ok('deployctl env list --json')).toContain('eu-1');
    await machine.ok(`dpkg -i ${tenancyDeb}`);
    await machine.until('! curl -fsS http://127.0.0.1:443/healthz', 20);
    const refusal = `the store is of a newer version (${migration}): install that version, or restore a backup of this one`;
    await machine.until(`journalctl --sync; journalctl -u deployd-tenancy | grep -F '${refusal}'`, 20);
    const { code, stderr } = await machine.run('deployd-tenancy serve');
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${refusal}\n` });
    await machine.ok(`dpkg -i ${file}; systemctl restart deployd-tenancy`);
    await machine.until('curl -fsS http://127.0.0.1:443/healthz', 20);
    expect(await machine.ok('deployctl env list --json')).toContain('eu-1');
    expect(await machine.ok('deployd-tenancy --version')).toBe(version);
  });

  it('a removal keeps the store, a purge leaves nothing', async () => {
    await machine.ok('dpkg -r deployd-tenancy');
    expect(await machine.ok('systemctl list-units --all --plain --no-legend "deployd-tenancy*"')).toBe('');
    await machine.ok('test -e /var/lib/deployd-tenancy/store.sqlite -a -e /etc/deployd-tenancy/config.yaml');
    await machine.ok('dpkg -P deployd-tenancy deployctl');
    await machine.ok(
      '! ls -d /var/lib/deployd-tenancy /etc/deployd-tenancy /usr/bin/deployctl /usr/share/doc/deployd*',
    );
  });
});
