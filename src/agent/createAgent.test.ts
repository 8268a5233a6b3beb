import { join } from 'node:path';
import { createActor, toPromise } from 'xstate';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import type { Settings } from './config/configKeys.ts';
import type { Journal } from './journal/journal.ts';
import { Vault } from './secrets/vault.ts';
import { createAgent } from './createAgent.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

const silent = (): Journal => {
  const journal: Journal = {
    error: () => undefined,
    warn: () => undefined,
    info: () => undefined,
    debug: () => undefined,
    block: () => undefined,
    forTick: () => journal,
    flush: async () => undefined,
  };
  return journal;
};

/** Settings of a host without token and grant: its tick ends before any request. */
const settingsOf = (transport: Settings['transport']) =>
  ({
    env: 'eu-1',
    state_dir: dir,
    bootstrap_file: join(dir, 'bootstrap.jwt'),
    transport,
    tenancy_url: 'https://127.0.0.1:1',
    secretstore_url: 'https://127.0.0.1:1',
    container_host: `unix://${dir}/none.sock`,
    mesh: { identity_file: join(dir, 'identity.json') },
    connect_timeout_s: 1,
    http_timeout_s: 1,
  }) as Settings;

it.each([
  ['system', true],
  ['sdk', false], // may have logged in to the mesh with the host's private key
] as const)('a tick with the transport %s and no secrets held only the token: %s', async (transport, tokenOnly) => {
  const sweeps: boolean[] = [];
  const vault = new Vault((tokenAlone) => void sweeps.push(tokenAlone));
  const options = { settings: settingsOf(transport), vault, journal: silent(), version: '0.2.0', unattended: false };
  const { machine } = await createAgent(options);
  const actor = createActor(machine, { input: { intent: 'tick', prune: false, laptopMode: false } });
  const output = toPromise(actor);
  actor.start();
  expect((await output).ending).toBe('tokenAbsent');
  expect(sweeps).toEqual([tokenOnly]);
});
