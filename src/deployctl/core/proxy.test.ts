import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { startConnectProxy } from '../../../fixtures/world/servers/http/connectProxy.ts';
import { isExempt, proxyOf } from './proxy.rules.ts';

const me = { name: 'ci', role: 'deployer', envs: null };
const password = 'geh@im/1';
const credentials = `ci:${encodeURIComponent(password)}@`;

let api: Awaited<ReturnType<typeof startScriptedApi>>;
let proxy: Awaited<ReturnType<typeof startConnectProxy>>;
const started: { stop: () => Promise<unknown> }[] = [];
beforeAll(async () => void (api = await startScriptedApi(() => ({ status: 200, body: me }))));
beforeEach(async () => started.push((proxy = await startConnectProxy(portOf(api.server.url)))));
afterEach(async () => void (await Promise.all(started.splice(0).map(({ stop }) => stop()))));
afterAll(() => api.stop());

const portOf = (url: string) => Number(new URL(url).port);
const urlOf = (host: string) => `https://${host}:${portOf(api.server.url)}`;
const whoAmI = async (env: Record<string, string>) => {
  const outcome = await deployctl(['whoami'], { env: { ...api.home.env, ...env } });
  expect(outcome.stdout + outcome.stderr).not.toMatch(/geh|Z2VoQGltLzE/);
  return outcome;
};

describe('deployctl calls the service through', () => {
  it.each<[string, (at: string) => Record<string, string>, boolean]>([
    ['https_proxy', (at) => ({ https_proxy: `http://${at}` }), true],
    ['HTTPS_PROXY without a scheme', (at) => ({ HTTPS_PROXY: at }), true],
    ['ALL_PROXY', (at) => ({ ALL_PROXY: `http://${at}/` }), true],
    ['https_proxy before HTTPS_PROXY', (at) => ({ https_proxy: at, HTTPS_PROXY: 'http://127.0.0.1:1' }), true],
    ['HTTPS_PROXY if https_proxy is empty', (at) => ({ https_proxy: '', HTTPS_PROXY: at }), true],
    ['https_proxy if no_proxy contains other hosts', (at) => ({ https_proxy: at, no_proxy: 'example.org' }), true],
    ['no proxy if no_proxy contains the host', (at) => ({ https_proxy: at, no_proxy: 'a.example, localhost' }), false],
    ['no proxy if only http_proxy is set', (at) => ({ http_proxy: at, HTTP_PROXY: at }), false],
  ])('%s', async (_, variables, isProxied) => {
    const env = { DEPLOYCTL_URL: urlOf('localhost'), ...variables(proxy.address) };
    expect(await whoAmI(env)).toMatchObject({ exit: 0, stdout: expect.stringContaining('ci') as string });
    expect(proxy.tunnels.map(({ target }) => target)).toEqual(isProxied ? [urlOf('localhost').slice(8)] : []);
    expect(proxy.requests).toEqual([]);
  });
});

it("sends the proxy's user and password only to the proxy", async () => {
  const { exit } = await whoAmI({ https_proxy: `http://${credentials}${proxy.address}` });
  expect(exit).toBe(0);
  const authorization = `Basic ${Buffer.from(`ci:${password}`).toString('base64')}`;
  expect(proxy.tunnels).toEqual([{ target: api.server.url.replace(/^https:\/\/|\/$/g, ''), authorization }]);
});

it.each([
  [407, 1, 'PROXY_REFUSED: the proxy http://127.0.0.1:'],
  [403, 1, 'answered 403 to a tunnel to 127.0.0.1'],
  [503, 75, 'answered 503 to a tunnel to 127.0.0.1'],
])('reports status %i from the proxy as its refusal, not as an answer of the service', async (status, exit, text) => {
  const refusing = await startConnectProxy(1, status);
  started.push(refusing);
  const outcome = await whoAmI({ https_proxy: `http://${credentials}${refusing.address}` });
  expect(outcome).toMatchObject({ exit, stderr: expect.stringContaining(text) as string });
});

it.each([
  ['does not answer by HTTP', '\0\xff\x16garbage\r\n\r\n', 1, 'PROXY_REFUSED: the proxy http://127.0.0.1:'],
  ['closes the connection', '', 75, 'UNREACHABLE: https://'],
])('names a proxy that %s', async (_, answer, exit, text) => {
  const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(answer)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  started.push({ stop: () => promisify(server.close.bind(server))() });
  const { port } = server.address() as AddressInfo;
  const outcome = await whoAmI({ https_proxy: `http://${credentials}127.0.0.1:${port}` });
  expect(outcome).toMatchObject({ exit, stderr: expect.stringContaining(text) as string });
  expect(outcome.stderr).toContain(`the proxy http://127.0.0.1:${port}`);
});

it.each([
  [
    'names the proxy that cannot be reached',
    `http://${credentials}127.0.0.1:1`,
    75,
    'through the proxy http://127.0.0.1:1: ',
  ],
  [
    'refuses a proxy of another kind',
    `socks5://${credentials}127.0.0.1:1080`,
    2,
    'PROXY_INVALID: https_proxy is not an http://',
  ],
  ['refuses a proxy that is not a URL', `http://${credentials}:x`, 2, 'PROXY_INVALID'],
  ['refuses a password with invalid encoding', 'http://ci:geh%@127.0.0.1:1', 2, 'PROXY_INVALID'],
])('%s', async (_, https_proxy, exit, text) => {
  expect(await whoAmI({ https_proxy })).toMatchObject({ exit, stderr: expect.stringContaining(text) as string });
});

it('verifies the certificate of the service through the tunnel', async () => {
  const other = await startScriptedApi(() => ({ status: 200, body: me }));
  started.push(other);
  const untrusted = await whoAmI({
    https_proxy: proxy.address,
    DEPLOYCTL_CA_FILE: other.home.env['DEPLOYCTL_CA_FILE']!,
  });
  expect(untrusted).toMatchObject({ exit: 1, stderr: expect.stringContaining('TLS_UNTRUSTED') as string });
  const misnamed = await whoAmI({ https_proxy: proxy.address, DEPLOYCTL_URL: urlOf('127.0.0.9') });
  expect(misnamed).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('not for 127.0.0.9') as string,
  });
});

it.each([
  ['a.example', '*', true],
  ['a.example', 'example', true],
  ['a.example', '.example', true],
  ['A.Example.', 'b.example,a.example', true],
  ['a.example', 'a.example:443', false],
  ['ba.example', 'a.example', false],
  ['localhost', '', false],
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.1.2.3', '10.0.0.0/8 192.168.0.0/16', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.3', '2.3', false],
  ['10.1.2.3', '10.0.0.0/33', false],
  ['10.1.2.3', '10.0.0.0/x', false],
  ['[fd00::1]', 'fd00::/8', true],
  ['::1', '[::1]', true],
  ['::1', '127.0.0.1', false],
])('%s with no_proxy=%s is exempt: %s', (host, no_proxy, expected) => {
  expect(isExempt(host, { no_proxy })).toBe(expected);
  expect(isExempt(host, { no_proxy: ' ', NO_PROXY: no_proxy })).toBe(expected);
});

it.each([
  ['http://p:3128', 'http://p:3128/'],
  ['p', 'http://p:1080/'],
  ['http://p:80', 'http://p/'],
  ['https://p', 'https://p/'],
  ['http://u@[fd00::1]:8', 'http://[fd00::1]:8/'],
])('parses the proxy %s as %s', (https_proxy, url) => {
  expect(proxyOf({ https_proxy })).toMatchObject({ url: new URL(url) });
});
