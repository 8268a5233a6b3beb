import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describeIf, isRoot, needsRoot } from '../fixtures/world/users.ts';
import { type InstallWorld, openInstallWorld, optionsOf, token, version } from './installWorld.ts';

let world: InstallWorld;
let server: Server;
beforeEach(async () => {
  if (!isRoot) return;
  world = await openInstallWorld();
  server = createServer();
});
afterEach(async () => {
  if (!isRoot) return;
  server.closeAllConnections();
  server.close();
  await world.close();
});

const listening = async (address: string) => {
  server.listen(0, address);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

describeIf(needsRoot, 'a download', () => {
  /** Starts an HTTP proxy; what it was asked for, and all that it could read. */
  async function proxy() {
    const [asked, read]: [string[], string[]] = [[], []];
    server.on('connect', ({ url = '', headers }, client) => {
      asked.push(url);
      read.push(JSON.stringify(headers));
      const target = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.on('data', (bytes: Buffer) => read.push(bytes.toString()));
        client.pipe(target).pipe(client);
      });
      for (const socket of [client, target]) socket.on('error', () => undefined);
    });
    return { url: `http://127.0.0.1:${await listening('127.0.0.1')}`, asked, read };
  }
  const origin = () => new URL(world.packages.url).host;

  it.each([
    ['--proxy names', (url: string) => ({ options: { proxy: url }, env: {} })],
    ['https_proxy names', (url: string) => ({ options: {}, env: { https_proxy: url } })],
    [
      '--proxy names beside another',
      (url: string) => ({ options: { proxy: url }, env: { https_proxy: 'http://127.0.0.1:1' } }),
    ],
  ])('goes through the proxy that %s, which reads no token', async (_title, given) => {
    const { url, asked, read } = await proxy();
    const { options, env } = given(url);
    expect(await world.host.install(optionsOf(options), { env: { ...world.env, ...env } })).toMatchObject({ code: 0 });
    expect(asked).toEqual([origin(), origin()]);
    expect(read.join('')).not.toContain(token);
  });

  it('that its proxy refuses is reported, without the password of the proxy’s address', async () => {
    const port = await listening('127.0.0.1');
    server.on('connect', (_request, client) => client.end('HTTP/1.1 407 Who is it\r\n\r\n'));
    const ended = await world.host.install(optionsOf({ proxy: `http://me:pass-word@127.0.0.1:${port}` }), {
      env: world.env,
    });
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringMatching(/407/)]);
    expect(ended.stdout + ended.stderr).not.toContain('pass-word');
    expect(await world.host.list('run')).not.toContain('deployd-install.conf');
  });

  it('comes by IPv6 alone', async () => {
    server.on('request', ({ url = '' }, answer) => answer.end(world.packages.files.get(url.slice(1))));
    const base = `http://[::1]:${await listening('::1')}/deployd`;
    const ended = await world.host.install(optionsOf({ 'base-url': base }), { env: world.env });
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain(`installing deployd ${version}`);
  });
});
