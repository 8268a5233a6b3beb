import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { startWorld, type World } from '../fixtures/world/world.ts';
import { type InstallWorld, openInstallWorld, optionsOf } from './installWorld.ts';
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

describeIf(needsRoot, 'the trusted signers of bundles', () => {
  /** Installs with these options, and the line of config.yaml. */
  const install = async (args: string[]) => {
    const said = await offer.host.install([...optionsOf(), ...args], { env: offer.env });
    const [line] = /^trust:.*$/m.exec(await offer.host.read('etc/deployd/config.yaml').catch(() => '')) ?? [];
    return { ...said, line };
  };
  beforeEach(async () => {
    if (!isRoot) return;
    for (const name of ['kit', 'hand']) await offer.host.write(`${name}.json`, `${name}\n`);
  });
  const fromKit = ['--kit-trust', '/kit.json'];
  const byHand = ['--trust', '/hand.json'];
  const line = (name: string) => `trust: {"bundles":{"keys":["${name}"]}}`;

  it('come from the kit, with their fingerprints printed, and the kit does not replace the signers of the host', async () => {
    const first = await install([...fromKit, '--sequence', '42']);
    expect(first).toMatchObject({ code: 0, line: line('kit'), stderr: 'key SHA256:stub\n' });
    expect(first.stdout).toContain('compare the fingerprints with the people who sign');
    expect(await offer.host.calls()).toContain('deployd trust reset --sequence 42 --if-unknown');
    await offer.host.write('kit.json', 'thief\n');
    const again = await install(fromKit);
    expect(again).toMatchObject({ code: 0, line: line('kit') });
    expect(again.stdout).toContain('has trusted signers; the signers of the install kit are not used');
  });

  it('come from a file given by hand, whatever the kit contains', async () => {
    expect(await install([...fromKit, ...byHand])).toMatchObject({ code: 0, line: line('hand') });
    expect(await install(fromKit)).toMatchObject({ code: 0, line: line('hand') });
    await offer.host.write('hand.json', 'next\n');
    expect(await install(byHand)).toMatchObject({ code: 0, line: line('next') });
  });

  it('are those that somebody wrote into config.yaml', async () => {
    await install([]);
    const config = `${await offer.host.read('etc/deployd/config.yaml')}trust:\n  bundles: { keys: [/root/a.pub] }\n`;
    await offer.host.write('etc/deployd/config.yaml', config);
    expect(await install(fromKit)).toMatchObject({ code: 0, line: 'trust:' });
    expect(await offer.host.read('etc/deployd/config.yaml')).toBe(config);
    const refused = await install(byHand);
    expect(refused).toMatchObject({ code: 2, line: 'trust:' });
    expect(refused.stderr).toContain('has the key trust; change it there, or remove it');
  });

  it('enable nothing when they cannot be stored', async () => {
    await offer.host.write('played/deployd.ends', '1\n');
    expect(await install(fromKit)).toMatchObject({ code: 1, line: undefined });
    expect((await offer.host.calls()).filter((call) => call.includes('enable'))).toEqual([]);
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
