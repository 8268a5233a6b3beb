import { mkdir, rm } from 'node:fs/promises';
import { optionsOf } from './installWorld.ts';
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

describeIf(needsRoot, 'what a mesh needs', () => {
  async function told(changes: Record<string, string | null>): Promise<string[]> {
    const before = await offer.host.snapshot();
    const ended = await offer.install(changes);
    expect(ended.code).toBe(2);
    expect(await offer.host.snapshot()).toEqual(before);
    return ended.stderr.split('\n').slice(1, -1);
  }

  it('is reported when the identity cannot be enrolled', async () => {
    await addMesh(offer.host);
    const missing =
      '  --identity-jwt is missing: this host has no mesh identity yet (/opt/mesh/etc/identities/deployd-host.eu-1.json)';
    expect(await told({ transport: 'sdk' })).toEqual([missing]);
    const unreadable =
      '  --identity-jwt: names no readable file with a JWT; it holds mesh_enrolment_jwt of the install kit';
    expect(await told({ transport: 'sdk', 'identity-jwt': '/nowhere' })).toEqual([unreadable]);
    expect(await told({ transport: 'sdk', 'identity-jwt': '/ca.pem' })).toEqual([unreadable]);
  });

  it('is reported when nobody would close the proxy’s ports, before anything is changed', async () => {
    await addMesh(offer.host);
    await rm(offer.host.path('played/nft'));
    const open = expect.stringContaining('its ports would be open to the network: install nftables') as string;
    expect(await told({ ...enrolling, transport: 'proxy' })).toEqual([open]);
    await offer.host.write('etc/deployd/proxy.env', 'DEPLOYD_PROXY_PORTS="exposed"\n');
    expect(await offer.install({ ...enrolling, transport: 'proxy' })).toMatchObject({ code: 0 });
  });

  it('is reported when no tunneller is there', async () => {
    expect(await told({ ...enrolling, transport: 'proxy' })).toEqual([
      '  --transport proxy: there is no /opt/mesh/bin/mesh to run the proxy; install it first',
      "  --identity-jwt: there is no /opt/mesh/bin/mesh-tunnel here to enrol it with; install the mesh's tunneller first",
    ]);
  });

  it('is reported when its group is not there', async () => {
    await addMesh(offer.host);
    await offer.host.write('etc/group', (await offer.host.read('etc/group')).replace(/^mesh:.*\n/m, ''));
    expect(await told(enrolling)).toEqual([
      "  --transport sdk: there is no group mesh; install the mesh's tunneller first, or choose its names with --mesh",
    ]);
  });

  it('is nothing for the transport system, whatever token it is given', async () => {
    expect(await offer.install({ ...enrolling, transport: 'system' })).toMatchObject({ code: 0 });
    expect(await offer.host.list('opt')).toEqual([]);
    expect((await offer.host.calls()).filter((line) => line.includes('acl'))).toEqual([]);
  });
});

describeIf(needsRoot, 'an enrolment', () => {
  beforeEach(() => addMesh(offer.host));

  it('that fails leaves no identity and enables nothing', async () => {
    await offer.host.write('played/mesh-tunnel.ends', '1');
    const ended = await offer.install();
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
    expect((await offer.install()).stdout).toContain('deployd-host.eu-1.json is there');
  });

  it('writes through no link that the mesh’s user has put there', async () => {
    await offer.host.write('etc/precious', 'precious\n', 0o600);
    await mkdir(offer.host.path('opt/mesh/etc/identities'), { recursive: true });
    const identity = 'opt/mesh/etc/identities/deployd-host.eu-1.json';
    const body = `${tunneller}ln -sf /etc/precious /${identity}.enrolling\n`;
    await offer.host.write('opt/mesh/bin/mesh-tunnel', body, 0o755);
    expect(await offer.install()).toMatchObject({ code: 0 });
    expect(await offer.host.read('etc/precious')).toBe('precious\n');
    expect(await offer.host.rights('etc/precious')).toBe('0600 root:root');
    expect(await offer.host.rights(identity)).toBe('0640 mesh:mesh');
  });

  it('is done by the mesh’s command where there is no tunneller', async () => {
    await offer.host.write('opt/mesh/bin/mesh-tunnel', '', 0o644);
    const body = 'while [ "$1" != --out ]; do shift; done\necho "{}" >"$2"\n';
    await offer.host.write('opt/mesh/bin/mesh', `#!/bin/sh\n${body}`, 0o755);
    expect(await offer.install()).toMatchObject({ code: 0 });
    expect(await offer.host.read('opt/mesh/etc/identities/deployd-host.eu-1.json')).toBe('{}\n');
  });
});
