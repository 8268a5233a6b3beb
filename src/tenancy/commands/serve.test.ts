import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { join } from 'node:path';
import { initialize, inStore, settingsBelow } from '../../../fixtures/world/tenancy/installation.ts';
import { startServing, tenancySources, type ServingProcess } from '../../../fixtures/world/tenancy/servingProcess.ts';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { freePort } from '../../../fixtures/world/wait.ts';
import type { TLSSocket } from 'node:tls';
import type { TenancySettings } from '../config/configKeys.ts';
import type { Store } from '../store/openStore.ts';
import { pinOf } from '../keys/ownAuthority.ts';
import { serve } from './serve.ts';

let dir: string;
let settings: TenancySettings;
beforeEach(() => {
  dir = tempDir();
  settings = settingsBelow(dir);
});

/** Runs the service in this process until it is ready, then stops it. */
async function serveOnce(changes: Partial<TenancySettings> = {}): Promise<string[]> {
  const stop = new AbortController();
  const messages: string[] = [];
  const write = (line: string) => {
    messages.push((JSON.parse(line) as { message: string }).message);
    if (messages.includes('serving')) stop.abort();
  };
  await serve({ ...settings, ...changes }, { signal: stop.signal, write });
  return messages;
}

function migrationsOf(store: Store) {
  return store.$extendTables<{ kysely_migration: { name: string; timestamp: string } }>();
}

describe('serve refuses to start', () => {
  it('before init', async () => {
    await expect(serveOnce()).rejects.toThrow('there is no store yet: run sudo deployd-tenancy init');
  });

  it('with a store of an older or newer version', async () => {
    await initialize(settings);
    const change = (work: (migrations: ReturnType<typeof migrationsOf>) => Promise<unknown>) =>
      inStore(settings, (store) => work(migrationsOf(store)));
    const later = { name: '9999-later', timestamp: 'x' };
    await change((store) => store.insertInto('kysely_migration').values(later).execute());
    await expect(serveOnce()).rejects.toThrow(/newer version \(9999-later\): install that version/);
    await change((store) => store.deleteFrom('kysely_migration').where('name', '>', '0004').execute());
    await expect(serveOnce()).rejects.toThrow(/older version \(.*\): run sudo deployd-tenancy migrate/);
  });

  it('without its key file, or with the key file of another store', async () => {
    await initialize(settings);
    await expect(serveOnce({ key_file: join(dir, 'nothing') })).rejects.toThrow('does not exist');
    writeFileSync(join(dir, 'other'), 'x'.repeat(32));
    await expect(serveOnce({ key_file: join(dir, 'other') })).rejects.toThrow(/key file is not the one/);
  });

  it('with a key that does not match the certificate', async () => {
    await initialize(settings);
    const tls = { certificate_file: join(dir, 'cert.pem'), key_file: join(dir, 'key.pem'), own_authority: false };
    writeFileSync(tls.certificate_file, createCa().issue(['a.example']).cert);
    writeFileSync(tls.key_file, createCa().issue(['a.example']).key);
    await expect(serveOnce({ tls })).rejects.toThrow(`${tls.certificate_file} and ${tls.key_file}: `);
  });

  it('with an unreadable credentials file', async () => {
    await initialize(settings);
    const s3 = { ...settings.s3, url: 'https://s3.example', bucket: 'b', credentials_file: join(dir, 's3') };
    await expect(serveOnce({ s3 })).rejects.toThrow('does not exist');
    const mesh = { ...settings.mesh, controller_url: 'https://z.example', credentials_file: join(dir, 'mesh') };
    await expect(serveOnce({ mesh })).rejects.toThrow('does not exist');
  });

  it('only until the problem is fixed', async () => {
    await initialize(settings);
    await expect(serveOnce({ key_file: join(dir, 'nothing') })).rejects.toThrow();
    expect(await serveOnce()).toEqual(['serving', 'stopping']);
    expect(await serveOnce()).toEqual(['serving', 'stopping']);
  });
});

describe('a serving process', () => {
  let config: string;
  let url: string;
  let token: string;
  let serving: ServingProcess;
  beforeEach(async () => {
    token = await initialize(settings);
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    config = join(dir, 'config.yaml');
    const lines = [`public_url: ${url}`, 'secretstore_url: http://127.0.0.1:1', `listen: 127.0.0.1:${port}`];
    writeFileSync(config, [...lines, `state_dir: ${dir}`, `key_file: ${settings.key_file}`].join('\n'));
    serving = await startServing(config, tenancySources);
  });
  afterEach(() => serving.stop('SIGKILL'));

  const get = async (path: string) => (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>;

  it('publishes its keys even if every peer is down, and reports the missing parts', async () => {
    expect(await get('/healthz')).toEqual({});
    expect(await get('/.well-known/jwks.json')).toMatchObject({ keys: [{ alg: 'ES256' }] });
    expect(await get('/readyz')).toEqual({ ready: false, missing: ['secretstore'] });
    await serving.stop();
    expect(serving.lines).toContainEqual(expect.objectContaining({ level: 'info', message: 'request', status: 503 }));
  });

  it('serves by a certificate of its own authority, which `authority` prints', async () => {
    await serving.stop();
    const own = readFileSync(config, 'utf8').replace('http:', 'https:');
    writeFileSync(config, `${own}\ntls: {own_authority: true}`);
    serving = await startServing(config, tenancySources);
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [...tenancySources.slice(1), 'authority', '--config', config],
      {
        encoding: 'utf8',
      },
    );
    const healthz = new URL('/healthz', url.replace('http:', 'https:'));
    const [response] = (await once(getSecurely(healthz, { ca: stdout }), 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    const pin = pinOf((response.socket as TLSSocket).getPeerX509Certificate()!.toString());
    expect(stderr).toBe(`public key of the server, for curl --pinnedpubkey: ${pin}\n`);
    await expect(once(getSecurely(healthz), 'response')).rejects.toThrow(/certificate/);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('finishes started requests at %s, and exits with 0', async (signal) => {
    const body = JSON.stringify({ name: 'eu-1', production: false });
    const type = { 'content-type': 'application/json', 'content-length': body.length };
    const headers = { authorization: `Bearer ${token}`, expect: '100-continue', ...type };
    const call = request(`${url}/v1/envs`, { method: 'POST', headers });
    await once(call, 'continue');
    const ended = serving.stop(signal);
    while (serving.lines.at(-1)?.message !== 'stopping') await once(serving.log, 'line');
    call.end(body);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    expect([response.resume().statusCode, await ended]).toEqual([201, 0]);
  });

  it('holds the embedded store exclusively until it exits, whatever ends it', async () => {
    await expect(startServing(config, tenancySources)).rejects.toThrow(
      `exit 1: another process serves from ${dir}: stop it first\n`,
    );
    await serving.stop('SIGKILL');
    serving = await startServing(config, tenancySources);
    expect(await get('/healthz')).toEqual({});
  });

  it('reports an address in use on one line', async () => {
    const other = settingsBelow(tempDir());
    await initialize(other);
    const listen = url.slice('http://'.length);
    await expect(
      serve({ ...other, listen }, { signal: AbortSignal.abort(), write: () => undefined }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'listen' });
  });
});
