import { mkdir, rm } from 'node:fs/promises';
import { loadSettings } from '../src/agent/config/loadSettings.ts';
import { grant, type InstallWorld, openInstallWorld, optionsOf } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { tunneller, type CommandResult } from './scratchHost.ts';

let offer: InstallWorld;
beforeEach(async () => {
  if (!isRoot) return;
  offer = await openInstallWorld();
  await offer.host.write('identity.jwt', `${grant}\n`, 0o600);
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

const names = [
  { mesh: 'mesh', dir: '/opt/mesh', user: 'mesh', tunnel: 'mesh-tunnel' },
  { mesh: 'openziti', dir: '/opt/openziti', user: 'ziti', tunnel: 'ziti-edge-tunnel' },
];

const enrolling = { transport: 'sdk', 'identity-jwt': '/identity.jwt' };

async function install(changes: Record<string, string | null> = enrolling): Promise<CommandResult> {
  return offer.host.install(optionsOf(changes), { env: offer.env });
}

/** Puts the tunneller of a mesh there, and its command for proxies. */
async function withMesh({ dir, user, tunnel }: { dir: string; user: string; tunnel: string }): Promise<void> {
  await offer.host.write(`${dir}/bin/${tunnel}`, tunneller, 0o755);
  await offer.host.write(`${dir}/bin/${user}`, '#!/bin/sh\nexit 1\n', 0o755);
}

for (const mesh of names)
  describeIf(needsRoot, `the host of a mesh called ${mesh.mesh}`, () => {
    const identity = `${mesh.dir}/etc/identities/deployd-host.eu-1.json`;
    beforeEach(() => withMesh(mesh));

    it('enrols its identity, joins the group, grants it, runs the tunneller as a host', async () => {
      const ended = await install();
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      const calls = await offer.host.calls();
      expect(calls.slice(1, calls.indexOf('deployd bootstrap'))).toEqual([
        expect.stringMatching(
          RegExp(
            `^${mesh.tunnel} enroll --jwt /identity.jwt --identity /var/cache/deployd-enrolments/[0-9a-f]{64}.json.part$`,
          ),
        ),
        `identity-acl.sh ${identity}`,
        'systemctl --quiet enable --now deployd-identity-acl.path',
        'deployd status --config /etc/deployd/config.yaml.new',
        'systemctl --quiet is-enabled deployd-proxy.service',
        `systemctl --quiet cat ${mesh.tunnel}.service`,
        `systemctl --quiet is-enabled ${mesh.tunnel}.service`,
        `systemctl --quiet enable ${mesh.tunnel}.service`,
        `systemctl show --timestamp=us+utc --property ActiveState --value ${mesh.tunnel}.service`,
        'systemctl daemon-reload',
        `systemctl start ${mesh.tunnel}.service`,
      ]);
      expect(await offer.host.list('var/cache/deployd-enrolments')).toEqual(['last']);
      expect(await offer.host.rights(identity)).toBe(`0640 ${mesh.user}:${mesh.user}`);
      expect(await offer.host.read('etc/group')).toMatch(new RegExp(`^${mesh.user}:x:\\d+:deployd$`, 'm'));
      expect(await offer.host.read(`etc/systemd/system/${mesh.tunnel}.service.d/run-host.conf`)).toContain(
        `\n[Service]\nExecStart=\nExecStart=${mesh.dir}/bin/${mesh.tunnel} run-host --identity-dir=${mesh.dir}/etc/identities\n`,
      );
    });

    it('is found out, and the agent reads that identity', async () => {
      await install();
      const { mesh: found } = loadSettings(offer.host.path('etc/deployd/config.yaml'));
      expect(found.identity_file).toBe(identity);
    });

    it('can be chosen beside another', async () => {
      await offer.host.write('opt/mesh/etc/other', '');
      await offer.host.write('opt/openziti/etc/other', '');
      await install({ ...enrolling, mesh: mesh.mesh });
      expect(await offer.host.rights(identity)).toBe(`0640 ${mesh.user}:${mesh.user}`);
    });

    it('enrols nothing, changes nothing and restarts nothing the second time', async () => {
      await install();
      const before = await offer.host.snapshot();
      const calls = (await offer.host.calls()).length;
      expect(await offer.host.install([], { env: offer.env })).toMatchObject({ code: 0, stderr: '' });
      expect(await offer.host.snapshot()).toEqual(before);
      expect((await offer.host.calls()).slice(calls).filter((line) => /enroll|restart|reload/.test(line))).toEqual([]);
    });

    it('runs the proxy for the transport proxy, and only for that', async () => {
      expect(await install({ ...enrolling, transport: 'proxy' })).toMatchObject({ code: 0, stderr: '' });
      expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`DEPLOYD_IDENTITY=${identity}\n`);
      const calls = await offer.host.calls();
      expect(calls[calls.indexOf('deployd bootstrap') - 1]).toBe('systemctl start deployd-proxy.service');
      expect(calls.filter((line) => line.includes('acl'))).toEqual([]);
      await install({ ...enrolling, transport: 'system' });
      expect((await offer.host.calls()).slice(calls.length)).toContain(
        'systemctl --quiet disable --now deployd-proxy.service',
      );
    });

    it('is run as a host by the next run where this one could not', async () => {
      const player = await offer.host.read('played/systemctl');
      const failing = player.replace('case', `case $* in 'start ${mesh.tunnel}.service') exit 1 ;; esac\ncase`);
      await offer.host.write('played/systemctl', failing, 0o755);
      expect((await install()).stderr).toContain(`${mesh.tunnel}.service does not start: systemctl status`);
      await offer.host.write('played/systemctl', player, 0o755);
      const calls = (await offer.host.calls()).length;
      expect(await install()).toMatchObject({ code: 0 });
      expect((await offer.host.calls()).slice(calls)).toContain(`systemctl start ${mesh.tunnel}.service`);
    });

    it('tells that an enrolment token is not used beside an identity, and enrols anew when asked', async () => {
      await install();
      const first = await offer.host.read(identity);
      await offer.host.write('identity.jwt', `${grant}2\n`, 0o600);
      expect((await install()).stdout).toContain(
        'is there; the enrolment token is not used, unless a new identity is asked for',
      );
      await offer.host.write(`${mesh.dir}/bin/${mesh.tunnel}`, tunneller.replace('mesh.example', 'new.example'), 0o755);
      const calls = (await offer.host.calls()).length;
      const args = [...optionsOf(enrolling), '--re-enrol'];
      expect(await offer.host.install(args, { env: offer.env })).toMatchObject({ code: 0, stderr: '' });
      expect(await offer.host.read(identity)).toBe(first.replace('mesh.example', 'new.example'));
      expect((await offer.host.calls()).slice(calls)).toContain(`systemctl restart ${mesh.tunnel}.service`);
      const once = (await offer.host.calls()).length;
      expect((await offer.host.install(args, { env: offer.env })).stdout).toContain('is there, enrolled by this token');
      expect((await offer.host.calls()).slice(once).filter((line) => /enroll|restart/.test(line))).toEqual([]);
      expect(await offer.host.install(['--re-enrol'], { env: offer.env })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--re-enrol: needs --identity-jwt') as string,
      });
    });

    it.each(['sync', 'mv', 'cp', 'chown'])(
      'has its identity by a token that serves once, also where the run is killed at %s after it',
      async (program) => {
        const serving = tunneller.replace('while', '[ ! -e /played/served ] || exit 1\n: >/played/served\nwhile');
        await offer.host.write(`${mesh.dir}/bin/${mesh.tunnel}`, serving, 0o755);
        const kill = `#!/bin/sh\n[ ! -e /played/served ] || kill -KILL $PPID\nexec /usr/bin/${program} "$@"\n`;
        await offer.host.write(`played/${program}`, kill, 0o755);
        expect((await install()).code).not.toBe(0);
        await rm(offer.host.path(`played/${program}`));
        expect(await install()).toMatchObject({ code: 0 });
        expect(await offer.host.rights(identity)).toBe(`0640 ${mesh.user}:${mesh.user}`);
      },
    );
  });

describeIf(needsRoot, 'the proxy', () => {
  it('is started anew where what it reads has changed, and only then', async () => {
    await withMesh(names[0]!);
    const proxied = { ...enrolling, transport: 'proxy' };
    await install(proxied);
    const starts = async (changes: Record<string, string>) => {
      const calls = (await offer.host.calls()).length;
      expect(await install(changes)).toMatchObject({ code: 0 });
      return (await offer.host.calls()).slice(calls).filter((line) => /start deployd-proxy/.test(line));
    };
    expect(await starts(proxied)).toEqual([]);
    expect(await starts({ ...proxied, env: 'eu-2' })).toEqual(['systemctl restart deployd-proxy.service']);
  });

  it('keeps what operators wrote beside its identity', async () => {
    await withMesh(names[0]!);
    const proxied = { ...enrolling, transport: 'proxy' };
    await install(proxied);
    const before = await offer.host.read('etc/deployd/proxy.env');
    const theirs = '# our own firewall\nDEPLOYD_PROXY_PORTS=exposed\nDEPLOYD_TENANCY_SERVICE=tenancy.ours\n';
    await offer.host.write('etc/deployd/proxy.env', `${theirs}${before}`);
    await install(proxied);
    expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`${before}${theirs}`);
    await install({ ...proxied, env: 'eu-2' });
    expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`${before.replace('eu-1', 'eu-2')}${theirs}`);
  });

  it('that has nothing to run is told in its own words', async () => {
    await withMesh(names[0]!);
    const player = await offer.host.read('played/systemctl');
    const failing = player.replace('case', 'case $* in start?deployd-proxy*) exit 1 ;; esac\ncase');
    await offer.host.write('played/systemctl', failing, 0o755);
    await offer.host.write('played/tick.journal', 'deployd-proxy: no tunneller at /opt/mesh/bin/mesh\n');
    const ended = await install({ ...enrolling, transport: 'proxy' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(
      'the proxy does not start, and nothing is reached without it; mend this and run the installer again:\ndeployd-proxy: no tunneller at /opt/mesh/bin/mesh\n',
    );
    expect(await offer.host.calls()).not.toContain('deployd bootstrap');
  });

  it('that does not start ends it before the bootstrap, and says so', async () => {
    await withMesh(names[0]!);
    const player = await offer.host.read('played/systemctl');
    await offer.host.write(
      'played/systemctl',
      player.replace('case', 'case $* in *enable?deployd-proxy*) exit 1 ;; esac\ncase'),
      0o755,
    );
    const ended = await install({ ...enrolling, transport: 'proxy' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('the proxy does not start, and nothing is reached without it');
    expect(await offer.host.calls()).not.toContain('deployd bootstrap');
  });

  it('runs as the user of OpenZiti where the mesh is that, with its command where it is elsewhere', async () => {
    await offer.host.write('opt/openziti/bin/ziti-edge-tunnel', tunneller, 0o755);
    await offer.host.write('usr/local/bin/ziti', '#!/bin/sh\n', 0o755);
    await install({ ...enrolling, transport: 'proxy' });
    expect(await offer.host.read('etc/systemd/system/deployd-proxy.service.d/mesh.conf')).toContain(
      '\n[Service]\nUser=ziti\nGroup=ziti\n',
    );
    expect(await offer.host.read('etc/deployd/proxy.env')).toContain('\nDEPLOYD_TUNNELLER=/usr/local/bin/ziti\n');
  });
});

describeIf(needsRoot, 'what a mesh needs', () => {
  async function told(changes: Record<string, string | null>): Promise<string[]> {
    const before = await offer.host.snapshot();
    const ended = await install(changes);
    expect(ended.code).toBe(2);
    expect(await offer.host.snapshot()).toEqual(before);
    return ended.stderr.split('\n').slice(1, -1);
  }

  it('is told when the identity cannot be enrolled', async () => {
    await withMesh(names[0]!);
    const missing =
      '  --identity-jwt is missing: this host has no mesh identity yet (/opt/mesh/etc/identities/deployd-host.eu-1.json)';
    expect(await told({ transport: 'sdk' })).toEqual([missing]);
    const unreadable =
      '  --identity-jwt: names no readable file with a JWT; it holds mesh_enrolment_jwt of the install kit';
    expect(await told({ transport: 'sdk', 'identity-jwt': '/nowhere' })).toEqual([unreadable]);
    expect(await told({ transport: 'sdk', 'identity-jwt': '/ca.pem' })).toEqual([unreadable]);
  });

  it('is told when nobody would close the proxy’s ports, before anything is changed', async () => {
    await withMesh(names[0]!);
    await rm(offer.host.path('played/nft'));
    const open = expect.stringContaining('its ports would be open to the network: install nftables') as string;
    expect(await told({ ...enrolling, transport: 'proxy' })).toEqual([open]);
    await offer.host.write('etc/deployd/proxy.env', 'DEPLOYD_PROXY_PORTS="exposed"\n');
    expect(await install({ ...enrolling, transport: 'proxy' })).toMatchObject({ code: 0 });
  });

  it('is told when no tunneller is there', async () => {
    expect(await told({ ...enrolling, transport: 'proxy' })).toEqual([
      '  --transport proxy: there is no /opt/mesh/bin/mesh to run the proxy; install it first',
      "  --identity-jwt: there is no /opt/mesh/bin/mesh-tunnel here to enrol it with; install the mesh's tunneller first",
    ]);
  });

  it('is told when its group is not there', async () => {
    await withMesh(names[0]!);
    await offer.host.write('etc/group', (await offer.host.read('etc/group')).replace(/^mesh:.*\n/m, ''));
    expect(await told(enrolling)).toEqual([
      "  --transport sdk: there is no group mesh; install the mesh's tunneller first, or choose its names with --mesh",
    ]);
  });

  it('is nothing for the transport system, whatever token it is given', async () => {
    expect(await install({ ...enrolling, transport: 'system' })).toMatchObject({ code: 0 });
    expect(await offer.host.list('opt')).toEqual([]);
    expect((await offer.host.calls()).filter((line) => line.includes('acl'))).toEqual([]);
  });
});

describeIf(needsRoot, 'an enrolment', () => {
  beforeEach(() => withMesh(names[0]!));

  it('that fails leaves no identity and enables nothing', async () => {
    await offer.host.write('played/mesh-tunnel.ends', '1');
    const ended = await install();
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(
      'the mesh identity could not be enrolled: see above; an enrolment token serves once',
    );
    expect(await offer.host.list('opt/mesh')).toEqual(['bin']);
    expect((await offer.host.calls()).filter((line) => line.includes('enable'))).toEqual([]);
  });

  it('that is interrupted is finished, and leaves no half identity', async () => {
    const { reached, go } = await offer.host.hold('mesh-tunnel');
    const running = offer.host.start(optionsOf(enrolling), { env: offer.env });
    await reached;
    running.child.kill('SIGTERM');
    await go();
    expect((await running.ended).code).toBe(143);
    expect(await offer.host.list('opt/mesh/etc/identities')).toEqual(['deployd-host.eu-1.json']);
    expect((await install()).stdout).toContain('deployd-host.eu-1.json is there');
  });

  it('writes through no link that the mesh’s user has put there', async () => {
    await offer.host.write('etc/precious', 'precious\n', 0o600);
    await mkdir(offer.host.path('opt/mesh/etc/identities'), { recursive: true });
    const identity = 'opt/mesh/etc/identities/deployd-host.eu-1.json';
    const body = `${tunneller}ln -sf /etc/precious /${identity}.enrolling\n`;
    await offer.host.write('opt/mesh/bin/mesh-tunnel', body, 0o755);
    expect(await install()).toMatchObject({ code: 0 });
    expect(await offer.host.read('etc/precious')).toBe('precious\n');
    expect(await offer.host.rights('etc/precious')).toBe('0600 root:root');
    expect(await offer.host.rights(identity)).toBe('0640 mesh:mesh');
  });

  it('is done by the mesh’s command where there is no tunneller', async () => {
    await offer.host.write('opt/mesh/bin/mesh-tunnel', '', 0o644);
    const body = 'while [ "$1" != --out ]; do shift; done\necho "{}" >"$2"\n';
    await offer.host.write('opt/mesh/bin/mesh', `#!/bin/sh\n${body}`, 0o755);
    expect(await install()).toMatchObject({ code: 0 });
    expect(await offer.host.read('opt/mesh/etc/identities/deployd-host.eu-1.json')).toBe('{}\n');
  });
});
