import { X509Certificate } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { Settings } from '../config/configKeys.ts';
import { createRegistries } from './registries.ts';

const [ca, systemCa] = [createCa(), createCa('system')];
const never = new AbortController().signal;
let dir: string;
let server: Server;
let host: string;
let answer: RequestListener;

beforeEach(async () => {
  dir = tempDir();
  answer = (_request, response) => response.end('body');
  const tls = { ...ca.issue(['localhost']), ca: ca.pem, requestCert: true, rejectUnauthorized: false };
  server = createServer(tls, (request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `localhost:${(server.address() as AddressInfo).port}`;
  await mkdir(join(dir, host));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function get(changes: Partial<Settings> = {}, signal = never) {
  const settings = { connect_timeout_s: 5, http_timeout_s: 5, pull_timeout_s: 5, ...changes } as Settings;
  const roots = { all: () => ({ path: 'roots', pem: systemCa.pem }) };
  const registries = createRegistries({ settings, roots, version: '1.2', certificateDirs: [join(dir, 'none'), dir] });
  const access = registries.open([], signal);
  try {
    return await access.get(new URL(`https://${host}/v2/`), { accept: 'any' });
  } finally {
    access.close();
  }
}

it('trusts a registry by the authorities in its directory, and no other registry', async () => {
  await expect(get()).rejects.toThrow(`registry ${host}: the certificate of "localhost" is signed by`);
  await writeFile(join(dir, host, 'ca.crt'), ca.pem);
  expect(await get()).toMatchObject({ status: 200, body: Buffer.from('body') });
});

it('presents the client certificate in the directory', async () => {
  const { key, cert } = ca.issue(['agent']);
  const shown = () => get().then(({ body }) => body.toString());
  server.on('secureConnection', (socket) => {
    answer = (_request, response) => response.end(socket.getPeerX509Certificate()?.fingerprint);
  });
  await writeFile(join(dir, host, 'ca.crt'), ca.pem);
  expect(await shown()).toBe('');
  await writeFile(join(dir, host, 'client.cert'), cert);
  await expect(get()).rejects.toThrow(`${join(dir, host, 'client.key')} cannot be read (ENOENT)`);
  await writeFile(join(dir, host, 'client.key'), 'no key');
  await expect(get()).rejects.toThrow(`${join(dir, host, 'client.cert')} and its key cannot be used`);
  await writeFile(join(dir, host, 'client.key'), key);
  expect(await shown()).toBe(new X509Certificate(cert).fingerprint);
});

it('names a directory or a file that cannot be read', async () => {
  await symlink('nowhere', join(dir, host, 'ca.crt'));
  await expect(get()).rejects.toThrow(`${join(dir, host, 'ca.crt')} cannot be read (ENOENT)`);
});

it("connects as the agent, without any user's login", async () => {
  await writeFile(join(dir, host, 'ca.crt'), ca.pem);
  answer = ({ headers }, response) => response.end(JSON.stringify(headers));
  expect(JSON.parse((await get()).body.toString())).toEqual({
    connection: 'keep-alive',
    host,
    accept: 'any',
    'accept-encoding': 'identity',
    'user-agent': 'deployd/1.2',
  });
});

describe('an answer', () => {
  beforeEach(() => writeFile(join(dir, host, 'ca.crt'), ca.pem));

  it('of more than 4 MiB is not read', async () => {
    answer = (_request, response) => response.end(Buffer.alloc(4 * 2 ** 20 + 1));
    await expect(get()).rejects.toThrow(`registry ${host}: `);
    answer = (_request, response) => response.end(Buffer.alloc(4 * 2 ** 20));
    expect((await get()).body).toHaveLength(4 * 2 ** 20);
  });

  it.each(['http_timeout_s', 'pull_timeout_s'] as const)('that does not end is awaited until %s', async (key) => {
    answer = (_request, response) => response.write('begun');
    await expect(get({ [key]: 0.2 })).rejects.toThrow(`registry ${host}: no complete answer in time`);
  });

  it('is not awaited after SIGTERM', async () => {
    const stop = new AbortController();
    answer = () => stop.abort();
    await expect(get({}, stop.signal)).rejects.toMatchObject({ ending: 'stopped' });
  });
});

it('uses a login only for the registry of its host', () => {
  const registries = createRegistries({
    settings: { pull_timeout_s: 5 } as Settings,
    roots: { all: () => ({ path: 'none', pem: '' }) },
    version: '1',
  });
  const logins = [
    { host: 'r.example:5000', username: 'ann', password: 'pw' },
    { host: 'r.example:5000/team', username: 'bob', password: 'pw' },
  ];
  const { loginOf } = registries.open(logins, never);
  expect(loginOf('r.example:5000', 'app')).toEqual({ user: 'ann', password: 'pw' });
  expect(loginOf('r.example:5000', 'team/app')).toEqual({ user: 'bob', password: 'pw' });
  expect(loginOf('r.example', 'app')).toBeNull();
  expect(loginOf('docker.io', 'library/app')).toBeNull();
});
