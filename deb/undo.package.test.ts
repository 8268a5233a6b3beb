import { rm } from 'node:fs/promises';
import { bootMachine, type Machine } from '../fixtures/world/boot/machine.ts';
import { buildStubPackages } from './stubPackages.ts';

const units = '/etc/systemd/system';
const identity = '/opt/mesh/etc/identities/deployd-host.eu-1.json';

let machine: Machine;
let debs: string;
beforeAll(async () => {
  debs = await buildStubPackages({ new: { version: '0.2.0' }, '0.1.10': { version: '0.1.10' } });
  machine = await bootMachine({ readOnlyPaths: [debs] });
  await machine.ok('adduser --system --group --quiet mesh');
}, 360_000);
afterAll(async () => {
  await machine.stop();
  await rm(debs, { recursive: true });
});

beforeEach(async () => {
  await machine.run('dpkg --purge deployd; rm -rf /srv/* /opt/mesh; rm -rf /etc/systemd/system/*.d');
  await machine.ok(`dpkg -i ${debs}/new.deb`);
});

const config = (lines: string) => machine.ok(`printf '${lines}' >/etc/deployd/config.yaml`);
const remaining = (paths: string) => machine.ok(`ls -d ${paths} 2>/dev/null || :`);

describe('removal', () => {
  beforeEach(async () => {
    await config('env: eu-1\\ntransport: sdk\\n');
    await machine.ok(`usermod -a -G mesh deployd
      install -d -o mesh -g mesh -m 750 ${identity.replace(/\/[^/]*$/, '')}
      install -o mesh -g mesh -m 640 /dev/null ${identity}
      /usr/share/deployd/identity-acl.sh`);
    for (const [place, text] of [
      ['mesh-tunnel.service.d/run-host.conf', '# Written by the installer of deployd.\\n[Service]\\n'],
      ['deployd.service.d/paths.conf', '# Written by the Ansible role deployd.\\n[Service]\\n'],
      ['deployd-proxy.service.d/mesh.conf', '[Service]\\nUser=ours\\n'],
    ])
      await machine.ok(`mkdir -p ${units}/${place!.split('/')[0]} && printf '${text}' >${units}/${place}`);
  });

  it.each(['remove', 'purge'])(
    'by %s reverts the changes of installer and role, and reports what stays',
    async (verb) => {
      expect(await machine.ok(`getfacl -c ${identity} | grep deployd`)).toBe('user:deployd:r--');
      const { code, stderr } = await machine.run(`dpkg --${verb} deployd`);
      expect(code).toBe(0);
      expect(stderr).toContain('mesh-tunnel.service runs with the settings of deployd');
      expect(stderr).toMatch(verb === 'remove' ? /its configuration and state stay/ : /the user deployd, .* stay$/m);
      expect(await machine.ok(`getfacl -cs ${identity} ${identity.replace(/\/[^/]*$/, '')}`)).toBe('');
      expect(await machine.ok('id -nG deployd')).not.toContain('mesh');
      expect(await remaining(`${units}/*.d`)).toBe(`${units}/deployd-proxy.service.d`);
      expect(await remaining(identity)).toBe(identity);
    },
  );

  it('is followed by a complete installation again', async () => {
    await machine.ok(`dpkg --remove deployd && dpkg -i ${debs}/new.deb && /usr/share/deployd/identity-acl.sh`);
    await machine.ok(`setpriv --reuid=deployd --regid=deployd --clear-groups cat ${identity}`);
  });
});

describe('purging', () => {
  it('deletes only the agent’s files in a state directory of the operator, and the grant', async () => {
    await config('env: eu-1\\nstate_dir: "/srv/data" # ours\\nbootstrap_file: /srv/grant\\n');
    await machine.ok(`mkdir -p /srv/data/eu-1/releases /srv/data/traces /srv/data/photos && touch /srv/grant
      chown deployd: /srv/data
      cd /srv/data && touch store.token state.json state.json.corrupt-1 hold.json history.jsonl lock lock.guard roots.pem mesh.json photos/one`);
    expect((await machine.run('dpkg --purge deployd')).stderr).toContain('/srv/data stays: it is not empty');
    expect(await machine.ok('find /srv -mindepth 1 | sort | paste -s -d " "')).toBe(
      '/srv/data /srv/data/photos /srv/data/photos/one',
    );
  });

  it.each(['/', '/srv/../etc', 'relative', '/srv/..'])(
    'deletes nothing if the state directory is %s',
    async (place) => {
      await config(`env: eu-1\\nstate_dir: ${place}\\n`);
      await machine.ok('touch /srv/store.token /store.token /etc/store.token');
      await machine.ok('dpkg --purge deployd');
      expect(await remaining('/store.token /etc/store.token')).toBe('/etc/store.token\n/store.token');
    },
  );

  it('deletes nothing that another user wrote, and nothing in a linked directory of another user', async () => {
    await config('state_dir: /srv/ours/data\\nbootstrap_file: /etc/precious\\n');
    await machine.ok(`mkdir -p /srv/theirs /srv/ours && touch /etc/precious /srv/theirs/lock
      ln -s /srv/theirs /srv/ours/data && chown deployd: /srv/ours /etc/deployd/config.yaml`);
    await machine.ok('dpkg --purge deployd');
    expect(await remaining('/etc/precious /srv/theirs/*')).toBe('/etc/precious\n/srv/theirs/lock');
    await machine.ok(`dpkg -i ${debs}/new.deb`);
    await config('state_dir: /srv/ours/data\\n');
    expect((await machine.run('dpkg --purge deployd')).stderr).toContain(
      '/srv/ours/data stays: it does not belong to the user deployd',
    );
    expect(await remaining('/srv/theirs/*')).toBe('/srv/theirs/lock');
  });

  it('keeps mounted file systems below it, and reports them', async () => {
    await machine.ok(`mkdir -p /var/lib/deployd/eu-1/data && mount -t tmpfs none /var/lib/deployd/eu-1/data
      touch /var/lib/deployd/eu-1/data/precious /var/lib/deployd/store.token`);
    const { code, stderr } = await machine.run('dpkg --purge deployd');
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('/var/lib/deployd stays: something is mounted below it'),
    ]);
    expect(await remaining('/var/lib/deployd/store.token /var/lib/deployd/eu-1/data/*')).toBe(
      '/var/lib/deployd/eu-1/data/precious',
    );
    await machine.ok('umount /var/lib/deployd/eu-1/data');
  });
});

describe('the timer', () => {
  it('that was disabled under 0.1.10 stays disabled after the upgrade', async () => {
    await machine.ok(`dpkg --purge deployd && dpkg -i ${debs}/0.1.10.deb && touch /var/lib/deployd/store.token
      dpkg -i ${debs}/new.deb`);
    expect(await machine.run('/usr/share/deployd/enable-timer.sh')).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('deployd.timer was disabled on purpose and stays so') as string,
    });
  });

  it('is noted through no link that the agent’s user has put there', async () => {
    const note = '/etc/deployd/timer.enabled';
    const link = `ln -sfn /etc/made ${note}; chown -h deployd: ${note}`;
    await machine.ok(`${link}; /usr/share/deployd/enable-timer.sh`);
    await machine.ok(`echo precious >/etc/made; ${link}; /usr/share/deployd/enable-timer.sh --asked`);
    expect(await machine.ok(`cat /etc/made; stat -c %F:%u ${note}`)).toBe('precious\nregular empty file:0');
    await machine.ok(`rm /etc/made; dpkg --purge deployd; dpkg -i ${debs}/0.1.10.deb; ${link}
      touch /var/lib/deployd/store.token; dpkg -i ${debs}/new.deb`);
    expect(await remaining(`/etc/made ${note}`)).toBe(note);
  });

  it('that is masked stays masked until --asked', async () => {
    await machine.ok('systemctl mask deployd.timer');
    const masked = await machine.run('/usr/share/deployd/enable-timer.sh');
    expect([masked.code, masked.stdout]).toEqual([3, expect.stringContaining('was masked on purpose')]);
    await machine.ok('/usr/share/deployd/enable-timer.sh --asked');
    expect(await machine.ok('systemctl is-active deployd.timer')).toBe('active');
    expect(await machine.ok('/usr/share/deployd/enable-timer.sh --asked')).toBe('');
  });
});

describe('a unit', () => {
  it('is started once, and restarted only if a file that it reads has changed since', async () => {
    const start = '/usr/share/deployd/start-unit.sh sleeper.service /etc/read /etc/missing';
    await machine.ok(`printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' >${units}/sleeper.service
      touch /etc/read`);
    const pid = () => machine.ok('systemctl show -P MainPID sleeper.service');
    expect(await machine.ok(start)).toBe('sleeper.service was enabled\nsleeper.service was started');
    const first = await pid();
    expect(await machine.ok(start)).toBe('');
    expect(await pid()).toBe(first);
    await machine.ok('touch /etc/read');
    expect(await machine.ok(start)).toBe('sleeper.service was restarted');
    expect(await machine.ok(start)).toBe('');
    await machine.ok(
      `mkdir ${units}/sleeper.service.d && printf '[Service]\\nNice=1\\n' >${units}/sleeper.service.d/a.conf`,
    );
    expect(await machine.ok(`${start} ${units}/sleeper.service.d/a.conf`)).toBe('sleeper.service was restarted');
    expect(await machine.ok('systemctl show -P Nice sleeper.service')).toBe('1');
  });
});
