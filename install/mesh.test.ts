import { rm } from 'node:fs/promises';
import { loadSettings } from '../src/agent/config/loadSettings.ts';
import { grant, optionsOf } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { addMesh, enrolling, meshes, type MeshWorld, openMeshWorld } from './meshes.ts';
import { tunneller } from './stubPrograms.ts';

let offer: MeshWorld;
beforeEach(async () => {
  if (isRoot) offer = await openMeshWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

for (const mesh of meshes)
  describeIf(needsRoot, `the host of a mesh called ${mesh.mesh}`, () => {
    const identity = `${mesh.dir}/etc/identities/deployd-host.eu-1.json`;
    beforeEach(() => addMesh(offer.host, mesh));

    it('enrols its identity, joins the group, grants it, runs the tunneller as a host', async () => {
      const ended = await offer.install();
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
      await offer.install();
      const { mesh: found } = loadSettings(offer.host.path('etc/deployd/config.yaml'));
      expect(found.identity_file).toBe(identity);
    });

    it('keeps an identity file that the configuration names, also for the proxy', async () => {
      const theirs = `${mesh.dir}/keys/ours.json`;
      await offer.host.write('etc/deployd/config.yaml', `mesh: {"identity_file": "${theirs}"} # ours\n`, 0o640);
      expect(await offer.install({ ...enrolling, transport: 'proxy', mesh: mesh.mesh })).toMatchObject({ code: 0 });
      expect(await offer.host.rights(theirs)).toBe(`0640 ${mesh.user}:${mesh.user}`);
      expect(loadSettings(offer.host.path('etc/deployd/config.yaml')).mesh.identity_file).toBe(theirs);
      expect(await offer.host.read('etc/deployd/proxy.env')).toContain(`DEPLOYD_IDENTITY=${theirs}\n`);
    });

    it('can be chosen beside another', async () => {
      await offer.host.write('opt/mesh/etc/other', '');
      await offer.host.write('opt/openziti/etc/other', '');
      await offer.install({ ...enrolling, mesh: mesh.mesh });
      expect(await offer.host.rights(identity)).toBe(`0640 ${mesh.user}:${mesh.user}`);
    });

    it('enrols nothing, changes nothing and restarts nothing the second time', async () => {
      await offer.install();
      const before = await offer.host.snapshot();
      const calls = (await offer.host.calls()).length;
      expect(await offer.host.install([], { env: offer.env })).toMatchObject({ code: 0, stderr: '' });
      expect(await offer.host.snapshot()).toEqual(before);
      expect((await offer.host.calls()).slice(calls).filter((line) => /enroll|restart|reload/.test(line))).toEqual([]);
    });

    it('runs the proxy for the transport proxy, and only for that', async () => {
      expect(await offer.install({ ...enrolling, transport: 'proxy' })).toMatchObject({ code: 0, stderr: '' });
      expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`DEPLOYD_IDENTITY=${identity}\n`);
      const calls = await offer.host.calls();
      expect(calls[calls.indexOf('deployd bootstrap') - 1]).toBe('systemctl start deployd-proxy.service');
      expect(calls.filter((line) => line.includes('acl'))).toEqual([]);
      await offer.install({ ...enrolling, transport: 'system' });
      expect((await offer.host.calls()).slice(calls.length)).toContain(
        'systemctl --quiet disable --now deployd-proxy.service',
      );
    });

    it('is run as a host by the next run where this one could not', async () => {
      const player = await offer.host.read('played/systemctl');
      const failing = player.replace('case', `case $* in 'start ${mesh.tunnel}.service') exit 1 ;; esac\ncase`);
      await offer.host.write('played/systemctl', failing, 0o755);
      expect((await offer.install()).stderr).toContain(`${mesh.tunnel}.service does not start: systemctl status`);
      await offer.host.write('played/systemctl', player, 0o755);
      const calls = (await offer.host.calls()).length;
      expect(await offer.install()).toMatchObject({ code: 0 });
      expect((await offer.host.calls()).slice(calls)).toContain(`systemctl start ${mesh.tunnel}.service`);
    });

    it('reports that an enrolment token is not used beside an identity, and enrols again on request', async () => {
      await offer.install();
      const first = await offer.host.read(identity);
      await offer.host.write('identity.jwt', `${grant}2\n`, 0o600);
      expect((await offer.install()).stdout).toContain(
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
        expect((await offer.install()).code).not.toBe(0);
        await rm(offer.host.path(`played/${program}`));
        expect(await offer.install()).toMatchObject({ code: 0 });
        expect(await offer.host.rights(identity)).toBe(`0640 ${mesh.user}:${mesh.user}`);
      },
    );
  });
