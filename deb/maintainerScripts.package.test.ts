import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bootMachine, type Machine } from '../fixtures/world/boot/machine.ts';
import { buildStubPackages, previousScripts } from './stubPackages.ts';

let machine: Machine;
let debs: string;

beforeAll(async () => {
  debs = await buildStubPackages({
    new: { version: '0.2.0' },
    newer: { version: '0.3.0' },
    '0.1.8': { version: '0.1.8', scripts: previousScripts['0.1.8'] },
    '0.1.10': { version: '0.1.10', scripts: previousScripts['0.1.10'] },
    'failing-prerm': { version: '0.1.11', scripts: { '/prerm': failingScript('upgrade') } },
    'failing-preinst': { version: '0.3.0', scripts: { '/preinst': failingScript('upgrade') } },
    'failing-postrm': { version: '0.1.12', scripts: { '/postrm': failingScript('upgrade') } },
  });
  buildRivalPackage('breaks', 'Breaks: deployd');
  buildRivalPackage('replaces', 'Conflicts: deployd\nReplaces: deployd\nProvides: deployd');
  machine = await bootMachine({ readOnlyPaths: [debs] });
}, 600_000);

afterAll(async () => {
  await machine.stop();
  await rm(debs, { recursive: true });
});

beforeEach(async () => {
  await machine.ok(`dpkg --purge deployd rival >/dev/null 2>&1; userdel deployd 2>/dev/null; groupdel docker 2>/dev/null
    systemctl stop deployd-proxy.service 2>/dev/null; rm -rf /var/lib/deployd /etc/deployd /etc/systemd/system/*deployd*; :`);
});

/** The host after the last step: states of its units, and whether the files of the enrolment are `kept` or `gone`. */
const fresh = 'timer disabled inactive, token gone, config gone, path disabled inactive, proxy disabled inactive';
const enrolled = 'timer enabled active, token kept, config kept, path enabled active, proxy disabled inactive';
const disabled = 'timer disabled inactive, token kept, config kept, path enabled active, proxy disabled inactive';
const removed = 'timer not-found inactive, token kept, config kept, path not-found inactive, proxy not-found inactive';
const purged = 'timer not-found inactive, token gone, config gone, path not-found inactive, proxy not-found inactive';
const unitsDisabled =
  'timer disabled inactive, token kept, config kept, path disabled inactive, proxy disabled inactive';

it.each<[string, [step: string, expected?: string][]]>([
  [
    'upgrades and downgrades, also those that fail or are called off, leave a host as it is; a package that replaces it removes it',
    [
      ['install new', fresh],
      ['enrol', enrolled],
      ['install new', enrolled],
      ['install newer', enrolled],
      ['install new', enrolled],
      ['cannot install failing-preinst', enrolled],
      ['cannot install breaks', enrolled],
      ['dpkg -r rival'],
      ['dpkg -a --configure', enrolled],
      ['disable', disabled],
      ['install newer', disabled],
      ['enrol', enrolled],
      ['install replaces', removed],
    ],
  ],
  [
    'an upgrade from 0.1.10 keeps the timer and updates the file modes; removal keeps the files, purging deletes them',
    [
      ['install 0.1.10'],
      ['enrol'],
      ['install new', enrolled],
      [`[ "$(stat -c '%a %U:%G' /etc/deployd)" = '1770 root:deployd' ]`],
      ['mkdir -p /run/deployd-metrics && touch /run/deployd-metrics/deployd.prom'],
      ['dpkg -r deployd', removed],
      ['[ -z "$(ls /run/deployd-metrics)" ]'],
      ['install new', unitsDisabled],
      ['enrol', enrolled],
      ['dpkg -P deployd', purged],
      ['install new', fresh],
      ['enrol', enrolled],
      ['dpkg -r deployd', removed],
      ['dpkg -P deployd', purged],
    ],
  ],
  [
    'an upgrade from 0.1.8 finds the timer disabled by its removal script',
    [['install 0.1.8'], ['enrol'], ['install new', disabled]],
  ],
  [
    'an upgrade whose old prerm or postrm fails leaves the host as it is',
    [
      ['install failing-prerm'],
      ['enrol'],
      ['install new', enrolled],
      ['dpkg -P deployd', purged],
      ['install failing-postrm'],
      ['enrol'],
      ['install new', enrolled],
    ],
  ],
])('%s', async (_title, life) => {
  for (const [index, [step, expected]] of life.entries()) {
    await runStep(step);
    if (expected !== undefined) expect([index, step, await hostSummary()]).toEqual([index, step, expected]);
  }
});

const nonRemovalCalls = [
  'prerm upgrade 0.3.0',
  'prerm failed-upgrade 0.1.8 0.2.0',
  'prerm deconfigure in-favour rival 1 removing other 1',
  'prerm 1',
  'prerm 2',
  'postinst configure 0.2.0',
  'postinst abort-upgrade 0.3.0',
  'postinst abort-remove in-favour rival 1',
  'postinst abort-deconfigure in-favour rival 1 removing other 1',
  'postinst 1',
  'postinst 2',
  'postinst triggered x',
  'postrm upgrade 0.3.0',
  'postrm failed-upgrade 0.1.8 0.2.0',
  'postrm abort-install',
  'postrm abort-upgrade 0.1.8 0.2.0',
  'postrm disappear rival 1',
  'postrm remove',
  'postrm 0',
  'postrm 1',
];

it('leaves an enrolled host unchanged at every call that is not a removal, and disables the units at those that are', async () => {
  await runStep('install new');
  await runStep('enrol');
  for (const call of nonRemovalCalls) {
    await machine.ok(`/var/lib/dpkg/info/deployd.${call}`);
    expect([call, await hostSummary()]).toEqual([call, enrolled]);
  }
  for (const call of ['prerm remove', 'prerm remove in-favour rival 1', 'prerm 0']) {
    await machine.ok(`/var/lib/dpkg/info/deployd.${call}`);
    expect([call, await hostSummary()]).toEqual([call, unitsDisabled]);
    await runStep('enrol');
  }
});

it('creates the user with its groups and directories', async () => {
  await runStep('install new');
  expect(await machine.ok('id -nG deployd')).toBe('deployd docker');
  const made = await machine.ok(`stat -c '%n %a %U:%G' /etc/deployd /var/lib/deployd`);
  expect(made.split('\n')).toEqual(['/etc/deployd 1770 root:deployd', '/var/lib/deployd 700 deployd:deployd']);
  expect(await machine.ok('getent passwd deployd | cut -d: -f6-')).toBe('/var/lib/deployd:/usr/sbin/nologin');
});

it('reports after an upgrade from 0.1.8, and only then, how to enable the timer again', async () => {
  await runStep('install 0.1.8');
  const note = /version 0\.1\.8 has disabled the timer .* systemctl enable --now deployd\.timer/;
  expect((await machine.run(`dpkg -i ${debs}/new.deb`)).stderr).toMatch(note);
  expect((await machine.run(`dpkg -i ${debs}/newer.deb`)).stderr).not.toMatch(/timer/);
});

it('reports a missing compose v2 with its packages', async () => {
  const installed = () => machine.run(`dpkg -i ${debs}/new.deb`);
  expect((await installed()).stderr).toMatch(/compose v2 is not installed.*docker-compose-plugin/);
  await machine.ok('install -D /bin/true /usr/libexec/docker/cli-plugins/docker-compose');
  expect((await installed()).stderr).not.toMatch(/compose/);
  await machine.ok('rm -r /usr/libexec/docker');
});

it('restarts a running proxy, and does not start a stopped one', async () => {
  await runStep('install new');
  const override =
    '[Service]\nUser=root\nGroup=root\nEnvironmentFile=\nExecStartPre=\nExecStart=\nExecStart=/bin/sleep infinity\nExecStartPost=\nExecStopPost=';
  await machine.ok(`mkdir -p /etc/systemd/system/deployd-proxy.service.d
    printf '${override}' >/etc/systemd/system/deployd-proxy.service.d/test.conf
    systemctl daemon-reload && systemctl start deployd-proxy.service`);
  const pid = () => machine.ok('systemctl show -P MainPID deployd-proxy.service');
  const before = await pid();
  await runStep('install newer');
  expect(await pid()).not.toBe(before);
  await machine.ok('systemctl stop deployd-proxy.service');
  await runStep('install new');
  expect(await pid()).toBe('0');
});

it.each([
  ['a running tick', 'sleep infinity', 'activating'],
  ['a failed tick', 'exit 1', 'failed'],
])('removal stops %s and removes its state', async (_title, tick, state) => {
  await runStep('install new');
  await machine.ok(`echo '${tick}' >>/usr/bin/deployd; systemctl start --no-block deployd.service`);
  await machine.until(`systemctl show -P ActiveState deployd.service | grep ${state}`, 10);
  await runStep('dpkg -r deployd');
  expect(
    await machine.ok('systemctl list-units --all --plain --no-legend "deployd*"; pgrep -fx "sleep infinity" || :'),
  ).toBe('');
});

it('installs, removes and purges where systemd does not run, as in an image build', async () => {
  const offline = (line: string) => machine.ok(`unshare --mount sh -ec 'mount -t tmpfs none /run; ${line}'`);
  await offline(`dpkg -i ${debs}/new.deb`);
  expect(await machine.ok(`stat -c '%a' /etc/deployd`)).toBe('1770');
  await machine.ok('systemctl enable deployd.timer');
  await offline('dpkg -r deployd');
  expect(await machine.ok('find /etc/systemd/system -name "deployd*"')).toBe('');
  await offline('dpkg -P deployd');
  expect(await machine.ok('ls -d /etc/deployd /var/lib/deployd || :')).toBe('');
});

it('shows a hold at sign-in, wherever the state is, and nothing without one', async () => {
  await machine.ok(`dpkg -i ${debs}/new.deb && mkdir -p /srv/state`);
  await machine.ok(`printf '#!/bin/sh\\n[ "$*" = "hold --show" ] && echo "held until noon"\\n' >/usr/bin/deployd`);
  const told = () => machine.ok('run-parts /etc/update-motd.d | grep deployd: || :');
  expect(await told()).toBe('');
  await machine.ok('touch /var/lib/deployd/hold.json');
  const line = 'deployd: this host is held until noon; sooner: sudo deployd unhold';
  expect(await told()).toBe(line);
  await machine.ok(`echo 'state_dir: "/srv/state" # ours' >/etc/deployd/config.yaml`);
  expect(await told()).toBe('');
  await machine.ok('mv /var/lib/deployd/hold.json /srv/state');
  expect(await told()).toBe(line);
  await machine.ok('rm /usr/bin/deployd');
  expect(await told()).toBe('');
  await machine.ok('dpkg --purge deployd && ! [ -e /etc/update-motd.d/60-deployd ]');
});

it('purging empties a state directory that is a mount point', async () => {
  await runStep('install new');
  await machine.ok('mount -t tmpfs none /var/lib/deployd && echo secret >/var/lib/deployd/store.token');
  await runStep('dpkg -P deployd');
  expect(await machine.ok('ls -A /var/lib/deployd')).toBe('');
  await machine.ok('umount /var/lib/deployd');
});

/** Runs one step of a row: `install …`, a name of `steps`, or a shell line. */
async function runStep(step: string): Promise<void> {
  const [word, name] = step.replace('cannot ', '').split(' ');
  if (word === 'install') {
    const { code, stderr } = await machine.run(`dpkg -B -i ${debs}/${name}.deb`);
    if ((code !== 0) !== step.startsWith('cannot')) throw new Error(`${step}: ends with ${code}\n${stderr}`);
  } else await machine.ok(steps[step] ?? step);
}

const steps: Record<string, string> = {
  enrol: `printf token | install -m 0600 -o deployd -g deployd /dev/stdin /var/lib/deployd/store.token
    echo env: eu-1 | install -m 0640 -g deployd /dev/stdin /etc/deployd/config.yaml
    systemctl enable --quiet --now deployd.timer deployd-identity-acl.path`,
  disable: 'systemctl disable --quiet --now deployd.timer',
};

async function hostSummary(): Promise<string> {
  return machine.ok(`
    unit() { echo "$1 $(systemctl is-enabled deployd$2 2>&1 | sed 's/.*No such file.*/not-found/') $(systemctl is-active deployd$2)"; }
    file() { if [ "$(stat -c '%a %U:%G' $2 2>/dev/null)" = "$3" ]; then echo "$1 kept"; elif [ -e $2 ]; then echo "$1 changed"; else echo "$1 gone"; fi; }
    { unit timer .timer
      file token /var/lib/deployd/store.token '600 deployd:deployd'
      file config /etc/deployd/config.yaml '640 root:deployd'
      unit path -identity-acl.path
      unit proxy -proxy.service; } | paste -s -d, | sed 's/,/, /g'`);
}

function failingScript(word: string) {
  return { text: `#!/bin/sh\n[ "$1" != ${word} ]\n` };
}

/** Builds a package with these relations to deployd. */
function buildRivalPackage(name: string, relations: string): void {
  const control = `Package: rival\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@packages.example>\nDescription: rival\n${relations}\n`;
  const script = `d=$(mktemp -d) && mkdir $d/DEBIAN && cat >$d/DEBIAN/control && chmod 755 $d && dpkg-deb --root-owner-group -b $d "$1" && rm -r $d`;
  execFileSync('sh', ['-c', script, 'sh', join(debs, `${name}.deb`)], { input: control });
}
