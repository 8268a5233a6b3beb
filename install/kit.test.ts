import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { startWorld, type World } from '../fixtures/world/world.ts';
import { type InstallWorld, openInstallWorld } from './installWorld.ts';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';

let offer: InstallWorld;
let world: World;
beforeEach(async () => {
  if (!isRoot) return;
  offer = await openInstallWorld();
  world = await startWorld({ kit: { base_url: offer.packages.base, download_token: offer.token } });
});
afterEach(async () => {
  if (!isRoot) return;
  await world.stop();
  await offer.close();
});

describeIf(needsRoot, 'an install kit', () => {
  it('installs by the command that it carries', async () => {
    const kit = await reveal({ site: 'lab-2', laptop: true });
    await offer.host.write('bootstrap.jwt', kit['bootstrap_jwt']!, 0o600);
    await offer.host.write('secretstore-ca.pem', kit['secretstore_ca']!);
    const args = kit['command']!.split(' ').slice(2);
    const env = { CURL_CA_BUNDLE: '/ca.pem', DEPLOYD_TOKEN: kit['download_token']! };
    expect(await offer.host.install(args, { env })).toMatchObject({ code: 0, stderr: '' });
    expect(await offer.host.read('etc/deployd/config.yaml')).toBe(`env: 'eu-1'
site: 'lab-2'
transport: 'system'
tenancy_url: '${world.tenancy.url}'
secretstore_url: '${world.secretstore.url}'
laptop_mode: true
`);
    expect((await offer.host.read('var/lib/deployd/store.token')).trim()).toBe(kit['bootstrap_jwt']);
    expect(await offer.host.read('etc/deployd/secretstore-ca.pem')).toBe(kit['secretstore_ca']);
  });
});

/** Reveals the kit of a new backend, as its administrator does. */
async function reveal(backend: { site: string; laptop: boolean }): Promise<Record<string, string>> {
  const { id } = await world.tenancy.addBackend(backend);
  const headers = { authorization: `Bearer ${world.tenancy.adminToken}` };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${world.tenancy.url}/v1/backends/${id}/agent/install`, { headers, ca: world.ca.pem }, resolve).on(
      'error',
      reject,
    );
  });
  return JSON.parse(await text(response)) as Record<string, string>;
}
