import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { deployctl, sleeplessClock } from '../../../fixtures/world/ctl/deployctl.ts';
import { strangeToken } from '../../../fixtures/world/ctl/operatorHome.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';
import { createCa, serverNames } from '../../../fixtures/world/servers/crypto/ca.ts';

const me = { name: 'ann', role: 'admin', envs: null };

let api: Awaited<ReturnType<typeof startScriptedApi>>;
beforeEach(async () => {
  api = await startScriptedApi(() => ({ status: 200, body: me }));
});
afterEach(() => api.stop());

const run = (line: string, more: object = {}) =>
  deployctl(line.split(' '), { env: api.home.env, clock: sleeplessClock(), ...more });

it('sends the token of the file as a bearer, and says who it is', async () => {
  expect(await run('whoami')).toMatchObject({ exit: 0, stderr: '' });
  expect(api.calls[0]!.headers).toMatchObject({
    authorization: `Bearer ${strangeToken}`,
    accept: 'application/json',
    'user-agent': expect.stringMatching(/^deployctl\/\d/) as string,
  });
});

describe('a temporary failure', () => {
  it.each([
    ['a cut connection', { cut: 'head' }],
    ['an answer cut off', { cut: 'body' }],
    ['503', { status: 503 }],
    ['429', { status: 429 }],
  ] as const)('such as %s is tried again', async (_name, script) => {
    api.server.answerNext('call', script, 2);
    expect(await run('whoami')).toMatchObject({ exit: 0, stderr: '' });
    expect(api.server.requests).toHaveLength(3);
  });

  it('is tried four times, then reported with exit 75 and a remedy', async () => {
    api.server.answerAlways('call', { status: 503, body: { error: { code: 'STORE_AWAY', message: 'no store' } } });
    expect(await run('whoami')).toEqual({
      exit: 75,
      stdout: '',
      stderr: 'deployctl: STORE_AWAY: no store\n  → try again later\n',
    });
    expect(api.server.requests).toHaveLength(4);
  });

  it('is waited for as long as Retry-After asks, within reason', async () => {
    const clock = sleeplessClock();
    api.server.answerNext('call', { status: 503, headers: { 'retry-after': '20' } });
    expect(await run('whoami', { clock })).toMatchObject({ exit: 0 });
    expect(clock.slept).toEqual([expect.any(Number)]);
    expect(clock.slept[0]).toBeGreaterThanOrEqual(20_000);
    api.server.answerNext('call', { status: 503, headers: { 'retry-after': '3600' } });
    expect(await run('whoami', { clock })).toMatchObject({ exit: 75 });
    expect(clock.slept).toHaveLength(1);
  });

  it.each(['env create eu-1', 'secret set eu-1 db'])(
    'of `%s`, which would be done twice, is reported at once',
    async (line) => {
      api.server.answerNext('call', { cut: 'head' });
      expect(await run(line)).toMatchObject({ exit: 75 });
      expect(api.server.requests).toHaveLength(1);
    },
  );

  it('of an upload sends the whole file again', async () => {
    const file = join(api.home.dir, 'bundle');
    await writeFile(file, 'bytes');
    api.server.answerNext('call', { status: 503 });
    await deployctl(['push', file], { env: api.home.env, clock: sleeplessClock() });
    expect(api.server.requests).toHaveLength(2);
    expect(api.calls.map(({ body }) => body.toString())).toEqual(['bytes']);
  });
});

it('a refused connection is temporary', async () => {
  await api.server.stopListening();
  const { exit, stderr } = await run('whoami');
  expect({ exit, stderr }).toEqual({
    exit: 75,
    stderr: `deployctl: UNREACHABLE: ${api.server.url}: connection refused\n  → check the address and whether the service runs, and try again later\n`,
  });
});

it.each([
  [401, 77, 'OPERATOR_UNAUTHENTICATED', 'login'],
  [403, 77, 'FORBIDDEN', 'whoami'],
  [400, 2, 'REQUEST_INVALID', ''],
  [404, 1, 'ENV_NOT_FOUND', ''],
  [409, 1, 'ENV_EXISTS', 'env show'],
] as const)('status %i ends with %i', async (status, exit, code, advice) => {
  api.server.answerNext('call', { status, body: { error: { code, message: 'so it is' } } });
  const outcome = await run('whoami');
  expect(outcome).toMatchObject({ exit, stdout: '' });
  expect(outcome.stderr).toMatch(`deployctl: ${code}: so it is\n${advice && '  → '}`);
  expect(outcome.stderr).toContain(advice);
});

it('prints an error as the API has it with --json, and no characters that move the cursor', async () => {
  const refusals = [{ code: 'COMPOSE_REFUSED', detail: 'service \u001b]0;x\u0007' }];
  api.server.answerNext(
    'call',
    { status: 422, body: { error: { code: 'COMPOSE_REFUSED', message: 'no', refusals } } },
    2,
  );
  const { exit, stderr } = await run('whoami --json');
  expect(exit).toBe(1);
  expect(JSON.parse(stderr)).toEqual({ error: { code: 'COMPOSE_REFUSED', message: 'no', refusals } });
  const text = await run('whoami');
  expect(text.stderr).toContain('  refused: COMPOSE_REFUSED: service \ufffd]0;x\ufffd\n');
  expect((stderr + text.stderr).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

it.each([
  ['a page of something else', { body: '<html>welcome</html>' }],
  ['a list', { body: [1] }],
])('%s is not an answer', async (_name, script) => {
  api.server.answerNext('call', script);
  const { exit, stderr } = await run('whoami');
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^deployctl: PROTOCOL_INVALID: .*is this the address of the tenancy service\?\n$/);
});

it('a redirect is not followed', async () => {
  api.server.answerNext('call', { status: 302, headers: { location: `${api.server.url}/elsewhere` } });
  expect(await run('whoami')).toMatchObject({ exit: 1 });
  expect(api.server.requests).toHaveLength(1);
});

it('a certificate that the authority did not sign is never accepted, and the token not sent', async () => {
  api.server.setCertificate(createCa('another').issue(serverNames));
  const { exit, stderr } = await run('whoami');
  expect(exit).toBe(1);
  expect(stderr).toMatch(
    /^deployctl: TLS_UNTRUSTED: .*, and its issuer "another" is not trusted here .*\n {2}→ .* add "another" to --ca-file/,
  );
  expect(api.server.requests).toEqual([]);
});

it('no error holds the token', async () => {
  const server = createServer((socket) => void socket.on('error', () => undefined).end('no HTTP\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { exit, stderr } = await run(`whoami --url http://127.0.0.1:${port}`);
  server.close();
  expect(exit).toBe(1);
  expect(stderr).toContain('PROTOCOL_INVALID');
  expect(stderr).not.toContain('dpo_');
});

it('an id cannot lead to another path', async () => {
  for (const id of ['..', '.', ''])
    expect(await deployctl(['kit', id], { env: api.home.env })).toMatchObject({ exit: 2 });
  expect(api.server.requests).toEqual([]);
  await deployctl(['env', 'show', '../a/b?c#d'], { env: api.home.env });
  expect(api.server.requests[0]!.path).toBe('/v1/envs/..%2Fa%2Fb%3Fc%23d');
});
