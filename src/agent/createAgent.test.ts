import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createActor, toPromise } from 'xstate';
import type { Settings } from './config/settings.ts';
import type { Journal } from './journal/journal.ts';
import { Vault } from './secrets/vault.ts';
import { wire } from './createAgent.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-wire-'))));
afterEach(() => rm(dir, { recursive: true }));

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

/** A host without token and grant: its tick ends before it asks anybody. */
const bare = (transport: Settings['transport']) =>
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
  ['sdk', false], // it may have logged in, with the host's key
] as const)('a tick over %s that came to no secret held nothing but the token: %s', async (transport, isAlone) => {
  const heard: boolean[] = [];
  const vault = new Vault((tokenAlone) => void heard.push(tokenAlone));
  const parts = { settings: bare(transport), vault, journal: silent(), version: '0.2.0', unattended: false };
  const { machine } = await wire(parts);
  const actor = createActor(machine, { input: { intent: 'tick', prune: false, laptopMode: false } });
  const ended = toPromise(actor);
  actor.start();
  expect((await ended).ending).toBe('tokenAbsent');
  expect(heard).toEqual([isAlone]);
});
