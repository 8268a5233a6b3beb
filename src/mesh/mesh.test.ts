import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFabric, type Fabric } from '../../fixtures/world/mesh/fabric.ts';
import { createMesh, type Mesh } from './mesh.ts';

let echo: Server;
let fabric: Fabric;
let mesh: Mesh;
const neverAborted = new AbortController().signal;
const tenancy = { host: 'tenancy.deploy', port: 443, service: 'tenancy.deploy', isCleartext: false };
const plain = { host: 'plain', port: 80, service: 'plain', isCleartext: false };

beforeAll(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).pipe(socket));
  echo.listen(0, '127.0.0.1');
  await once(echo, 'listening');
});
afterAll(() => void echo.close());
beforeEach(async () => {
  const { port } = echo.address() as AddressInfo;
  fabric = await openFabric({
    'tenancy.deploy': { port, encrypted: true },
    plain: { port, encrypted: false },
  });
  mesh = createMesh({ identityFile: fabric.identityFile, timeoutMs: 2000 });
});
afterEach(async () => {
  await mesh.close();
  await fabric.stop();
});

const dial = (target = tenancy) => mesh.dial(target, neverAborted);

async function echoed(words: string, target = tenancy): Promise<string> {
  const connection = await dial(target);
  connection.end(words);
  return text(connection);
}

const logouts = { certificate: 'DELETE /edge/client/v1/current-api-session', oidc: 'POST /oidc/revoke' };

describe.each(['certificate', 'oidc'] as const)('a login by %s', (login) => {
  beforeEach(() => void (fabric.faultMode.login = login));

  it('serves all dials until `close`, which logs out', async () => {
    expect(await echoed('one')).toBe('one');
    expect(await echoed('two', plain)).toBe('two');
    await mesh.close();
    const { requests } = fabric.controller;
    expect(requests.filter((request) => /authenticate|token/.test(request))).toHaveLength(1);
    expect(requests.at(-1)).toBe(logouts[login]);
    expect(await echoed('three')).toBe('three');
  });

  it.each([
    ['refused', 401, /does not know the identity/],
    ['unreachable', 503, /503/],
    ['unreachable', 429, /429/],
    ['protocol', 400, /400/],
  ] as const)('that is %s by %d is sorted so', async (kind, status, words) => {
    fabric.faultMode.loginStatus = status;
    await expect(dial()).rejects.toMatchObject({ kind, message: expect.stringMatching(words) as string });
  });

  it('that demands a second factor is named', async () => {
    fabric.faultMode.demandsSecondFactor = true;
    await expect(dial()).rejects.toMatchObject({ kind: 'unsupported' });
  });
});

describe('a connection', () => {
  it.each([
    ['encrypted', tenancy],
    ['plain', plain],
  ] as const)('%s carries bytes both ways, half-closed, through small buffers', async (_name, target) => {
    const sent = randomBytes(5_000_000);
    const connection = await dial(target);
    connection.end(sent);
    const digest = createHash('sha256');
    for await (const chunk of connection) {
      digest.update(chunk as Buffer);
      if (Math.random() < 0.01) await new Promise(setImmediate);
    }
    expect(digest.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'));
  });

  it('receives the first bytes of its host although they directly follow the answer', async () => {
    for (const name of ['tenancy.deploy', 'plain']) {
      fabric.faultMode.services[name]!.greets = 'hello';
      expect(await echoed(', world', { ...tenancy, host: name, service: name })).toBe('hello, world');
    }
  });

  it('is one of six concurrent ones that share one dial session', async () => {
    const words = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(await Promise.all(words.map((word) => echoed(word)))).toEqual(words);
    expect(fabric.controller.requests.filter((request) => request.endsWith('/sessions'))).toHaveLength(1);
  });

  it('leaves no channel open', async () => {
    const connection = await dial();
    const sockets = fabric.routers.flatMap(({ channels }) => [...channels]);
    connection.destroy();
    await Promise.all(sockets.filter(({ destroyed }) => !destroyed).map((socket) => once(socket, 'close')));
    expect(fabric.routers.flatMap(({ channels }) => [...channels])).toEqual([]);
  });

  it('ends with a socket error when the router dies', async () => {
    const connection = await dial();
    for (const router of fabric.routers) for (const channel of router.channels) channel.destroy();
    const [error] = (await once(connection, 'error')) as [Error];
    expect(error).toMatchObject({ name: 'MeshError', kind: 'unreachable', code: 'ECONNRESET' });
  });

  it('sends its target to the host', async () => {
    await echoed('x');
    const appDataSent = fabric.routers.flatMap(({ appData }) => appData);
    expect(appDataSent).toEqual(['{"dst_protocol":"tcp","dst_hostname":"tenancy.deploy","dst_port":"443"}']);
  });
});

describe('a dial that fails', () => {
  it.each([
    ['because of an unknown service', { kind: 'notGranted' }, () => ({ ...plain, host: 'x', service: 'nobody' })],
    [
      'because of hosts without a key',
      { kind: 'protocol' },
      (f: Fabric) => ((f.faultMode.services['tenancy.deploy']!.hidesKey = true), tenancy),
    ],
    [
      'because of a missing terminator',
      { kind: 'noTerminator' },
      (f: Fabric) => ((f.faultMode.dial = { words: 'service x has no terminators' }), tenancy),
    ],
    [
      'because of denied access',
      { kind: 'notGranted' },
      (f: Fabric) => ((f.faultMode.dial = { words: 'denied', code: 14 }), tenancy),
    ],
    [
      'because of a posture check of the router',
      { kind: 'unsupported' },
      (f: Fabric) => ((f.faultMode.dial = { words: 'posture', code: 15 }), tenancy),
    ],
    [
      'because of any other error',
      { kind: 'unreachable' },
      (f: Fabric) => ((f.faultMode.dial = { words: 'oops', code: 1 }), tenancy),
    ],
    [
      'because the router does not respond to the dial',
      { kind: 'unreachable' },
      (f: Fabric) => ((f.faultMode.dial = 'silent'), tenancy),
    ],
    [
      'because routers do not respond',
      { kind: 'unreachable' },
      (f: Fabric) => ((f.faultMode.hello = 'silent'), tenancy),
    ],
    [
      'because routers close the connection',
      { kind: 'unreachable' },
      (f: Fabric) => ((f.faultMode.hello = 'close'), tenancy),
    ],
    ['because routers are busy', { kind: 'unreachable' }, (f: Fabric) => ((f.faultMode.hello = 'busy'), tenancy)],
    [
      'because routers reject the identity',
      { kind: 'refused' },
      (f: Fabric) => ((f.faultMode.hello = 'forbid'), tenancy),
    ],
    [
      'because of a posture check of the controller',
      { kind: 'unsupported' },
      (f: Fabric) => ((f.faultMode.sessionStatus = { status: 409, code: 'INVALID_POSTURE', once: false }), tenancy),
    ],
    [
      'because of a posture check in the list of services',
      { kind: 'unsupported', message: expect.stringMatching('posture') as string },
      (f: Fabric) => ((f.faultMode.login = 'oidc'), (f.faultMode.services['tenancy.deploy']!.posture = true), tenancy),
    ],
    [
      'because the session ends, without a reply',
      { kind: 'unreachable', message: expect.stringMatching('session closed') as string },
      (f: Fabric) => ((f.faultMode.dial = { words: 'session closed', unsolicited: true }), tenancy),
    ],
    [
      'because the service has lost its host',
      { kind: 'noTerminator' },
      (f: Fabric) => ((f.faultMode.services['tenancy.deploy']!.port = null), tenancy),
    ],
    [
      'because every session has ended',
      { kind: 'unreachable' },
      (f: Fabric) => ((f.faultMode.unknownSessions = 99), tenancy),
    ],
  ])('%s is classified', async (_name, expected, prepare) => {
    await expect(dial(prepare(fabric))).rejects.toMatchObject(expected);
  });

  it.each([
    ['the controller', (f: Fabric) => (f.faultMode.sessionStatus = { status: 401, code: 'UNAUTHORIZED', once: true })],
    ['the routers', (f: Fabric) => (f.faultMode.unknownSessions = 2)],
  ])('because %s lost the session is retried once with a new login', async (_name, forget) => {
    await echoed('before');
    forget(fabric);
    expect(await echoed('after', plain)).toBe('after');
    expect(fabric.controller.requests.filter((request) => request.includes('authenticate'))).toHaveLength(2);
  });

  it('because the controller is down is unreachable, and succeeds when it is back', async () => {
    await fabric.controller.stop();
    await expect(dial()).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('because a controller has an untrusted certificate is untrusted', async () => {
    const other = await openFabric({});
    const { writeFile, readFile } = await import('node:fs/promises');
    const identity = JSON.parse(await readFile(fabric.identityFile, 'utf8')) as object;
    await writeFile(fabric.identityFile, JSON.stringify({ ...identity, ztAPI: other.controller.url }));
    await expect(dial()).rejects.toMatchObject({ kind: 'untrusted' });
    await other.stop();
  });
});

it('a connection outlives the token of its login, and the last token is revoked', async () => {
  Object.assign(fabric.faultMode, { login: 'oidc', tokenLifeMs: 600 });
  const connection = await dial();
  const sent: string[] = [];
  for (let count = 0; count < 20; count++) {
    sent.push(`${count} `);
    connection.write(sent.at(-1));
    await sleep(100);
  }
  connection.end();
  expect(await text(connection)).toBe(sent.join(''));
  expect(await echoed('later')).toBe('later');
  expect(fabric.sessions.logins()).toMatchObject({ open: 1 });
  await mesh.close();
  expect(fabric.sessions.logins()).toMatchObject({ open: 0 });
});

type Intercepts = Record<string, [addresses: string[], low: number, high: number]>;

describe('the service for a target', () => {
  const target = { host: 'tenancy.deploy', port: 443, service: 'configured', isCleartext: false };
  const narrow: Intercepts[string] = [['tenancy.deploy'], 443, 443];
  const both = (host: string, one: string, other: string): [string, Intercepts, Partial<typeof target>, string] => [
    `${one} before ${other}`,
    { other: [[other], 443, 443], wanted: [[one], 1, 65_535] },
    { host },
    'wanted',
  ];

  it.each<[string, Intercepts, Partial<typeof target>, string]>([
    ['the configured name before any intercept', { other: narrow, configured: [['x.deploy'], 1, 1] }, {}, 'configured'],
    ['an exact name before a wildcard', { other: [['*.deploy'], 443, 443], wanted: narrow }, {}, 'wanted'],
    ['a narrow port range before a wide one', { other: [['tenancy.deploy'], 1, 65_535], wanted: narrow }, {}, 'wanted'],
    both('a.tenancy.deploy', '*.tenancy.deploy', '*.deploy'),
    both('10.0.0.8', '10.0.0.8', '10.0.0.0/24'),
    both('10.0.0.8', '10.0.0.8/32', '10.0.0.0/24'),
    both('10.0.0.8', '10.0.0.0/24', '10.0.0.0/8'),
    both('fd00::a', 'FD00:0:0::000a', 'fd00::/16'),
    both('fd00:0:0:0:0:0:0:a', 'fd00::a', 'fd00::/16'),
    both('[fd00::a]', 'fd00::/120', 'fd00::/16'),
    ['the first name among equals', { z: narrow, a: narrow }, {}, 'a'],
    ['any spelling of a name', { wanted: [['TENANCY.deploy'], 443, 443] }, { host: 'Tenancy.Deploy' }, 'wanted'],
    ['an exact name in clear text', { wanted: narrow }, { isCleartext: true }, 'wanted'],
    ['a configured name in clear text', { configured: [['*.deploy'], 1, 80] }, { isCleartext: true }, 'configured'],
    ['no other port', { other: narrow }, { port: 80 }, 'notGranted'],
    ['no wildcard without its dot', { other: [['*.deploy'], 443, 443] }, { host: 'xdeploy' }, 'notGranted'],
    ['no wildcard in clear text', { other: [['*.deploy'], 1, 443] }, { isCleartext: true }, 'unsupported'],
    ['no network in clear text', { other: [['::/0'], 1, 443] }, { isCleartext: true, host: '::1' }, 'unsupported'],
  ])('is chosen by %s', async (_name, intercepts, differences, expected) => {
    const { port } = echo.address() as AddressInfo;
    fabric.faultMode.services = Object.fromEntries(
      Object.entries(intercepts).map(([name, [addresses, low, high]]) => [
        name,
        { port, encrypted: false, intercept: { addresses, low, high } },
      ]),
    );
    const kind = (error: unknown) => (error as { kind: string }).kind;
    const failure = await echoed('words', { ...target, ...differences }).then(() => null, kind);
    expect(failure ?? fabric.sessions.granted()[0]).toBe(expected);
  });
});

it.each(['certificate', 'oidc'] as const)('a refused login by %s names a clock that is far off', async (login) => {
  Object.assign(fabric.faultMode, { login, loginStatus: 401, clockAheadMs: 86_400_000 });
  await expect(dial()).rejects.toThrow(/the clock of this host shows .*Z, and the clock of the controller .*Z/);
  fabric.faultMode.clockAheadMs = 60_000;
  await expect(dial()).rejects.not.toThrow('clock');
});
