import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { addMesh, enrolling, type MeshWorld, openMeshWorld } from './meshes.ts';
import { tunneller } from './stubPrograms.ts';

let offer: MeshWorld;
beforeEach(async () => {
  if (isRoot) offer = await openMeshWorld();
});
afterEach(async () => {
  if (isRoot) await offer.close();
});

describeIf(needsRoot, 'the proxy', () => {
  it('is restarted when a file that it reads has changed, and only then', async () => {
    await addMesh(offer.host);
    const proxied = { ...enrolling, transport: 'proxy' };
    await offer.install(proxied);
    const starts = async (changes: Record<string, string>) => {
      const calls = (await offer.host.calls()).length;
      expect(await offer.install(changes)).toMatchObject({ code: 0 });
      return (await offer.host.calls()).slice(calls).filter((line) => /start deployd-proxy/.test(line));
    };
    expect(await starts(proxied)).toEqual([]);
    expect(await starts({ ...proxied, env: 'eu-2' })).toEqual(['systemctl restart deployd-proxy.service']);
  });

  it('keeps what operators wrote beside its identity', async () => {
    await addMesh(offer.host);
    const proxied = { ...enrolling, transport: 'proxy' };
    await offer.install(proxied);
    const before = await offer.host.read('etc/deployd/proxy.env');
    const theirs = '# our own firewall\nDEPLOYD_PROXY_PORTS=exposed\nDEPLOYD_TENANCY_SERVICE=tenancy.ours\n';
    await offer.host.write('etc/deployd/proxy.env', `${theirs}${before}`);
    await offer.install(proxied);
    expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`${before}${theirs}`);
    await offer.install({ ...proxied, env: 'eu-2' });
    expect(await offer.host.read('etc/deployd/proxy.env')).toBe(`${before.replace('eu-1', 'eu-2')}${theirs}`);
  });

  it('that has nothing to run is reported in its own words', async () => {
    await addMesh(offer.host);
    const player = await offer.host.read('played/systemctl');
    const failing = player.replace('case', 'case $* in start?deployd-proxy*) exit 1 ;; esac\ncase');
    await offer.host.write('played/systemctl', failing, 0o755);
    await offer.host.write('played/tick.journal', 'deployd-proxy: no tunneller at /opt/mesh/bin/mesh\n');
    const ended = await offer.install({ ...enrolling, transport: 'proxy' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(
      'the proxy does not start, and nothing is reached without it; mend this and run the installer again:\ndeployd-proxy: no tunneller at /opt/mesh/bin/mesh\n',
    );
    expect(await offer.host.calls()).not.toContain('deployd bootstrap');
  });

  it('that does not start ends it before the bootstrap, and says so', async () => {
    await addMesh(offer.host);
    const player = await offer.host.read('played/systemctl');
    await offer.host.write(
      'played/systemctl',
      player.replace('case', 'case $* in *enable?deployd-proxy*) exit 1 ;; esac\ncase'),
      0o755,
    );
    const ended = await offer.install({ ...enrolling, transport: 'proxy' });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('the proxy does not start, and nothing is reached without it');
    expect(await offer.host.calls()).not.toContain('deployd bootstrap');
  });

  it('runs as the user of OpenZiti where the mesh is that, with its command where it is elsewhere', async () => {
    await offer.host.write('opt/openziti/bin/ziti-edge-tunnel', tunneller, 0o755);
    await offer.host.write('usr/local/bin/ziti', '#!/bin/sh\n', 0o755);
    await offer.install({ ...enrolling, transport: 'proxy' });
    expect(await offer.host.read('etc/systemd/system/deployd-proxy.service.d/mesh.conf')).toContain(
      '\n[Service]\nUser=ziti\nGroup=ziti\n',
    );
    expect(await offer.host.read('etc/deployd/proxy.env')).toContain('\nDEPLOYD_TUNNELLER=/usr/local/bin/ziti\n');
  });
});
