import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { inStore } from '../../../fixtures/world/tenancy/installation.ts';
import { startServing, tenancyProgram } from '../../../fixtures/world/tenancy/servingProcess.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { describeIf, needsRoot, nobodyUid } from '../../../fixtures/world/users.ts';
import { freePort } from '../../../fixtures/world/wait.ts';
import { loadSettings } from '../config/loadSettings.ts';
import { digestOfToken } from '../people/authenticate.ts';
import { listSigningKeys } from '../keys/keyRing.ts';
import { listEnvs } from '../store/envs.ts';
import { findOperator, listOperators, revokeOperator } from '../store/people.ts';
import { configText, operatorNames, readSetupUrl, unitStateOf } from './setup.rules.ts';

describe('the address', () => {
  it.each([
    ['http://tenancy.example', /must not travel unencrypted: begin with https/],
    ['tenancy.example', /is not an address such as https:/],
    ['https://', /has no valid host name or port/],
    ['https://tenancy.example:99999', /has no valid host name or port/],
    ['https://tenancy.example:0', /has no port/],
    ['https://tenancy.example/console', /leave out what follows the host: .* https:\/\/tenancy\.example$/],
    ['https://tenancy.example/?a', /leave out what follows the host/],
    ['https://tenancy.example.', /leave out the dot/],
    ['https://ann:geheim@tenancy.example', /^leave out the user and the password before tenancy\.example$/],
  ])('%s is refused', (text, problem) => {
    expect(readSetupUrl(text)).toEqual({ url: null, problem: expect.stringMatching(problem) as string });
  });

  it.each([
    ['https://Tenancy.Example', true, "public_url: https://tenancy.example\nlisten: '[::]:443'"],
    ['https://tenancy.example:8443/', false, "public_url: https://tenancy.example:8443\nlisten: '0.0.0.0:8443'"],
    ['https://localhost:8443', true, "public_url: https://localhost:8443\nlisten: 'localhost:8443'"],
    ['https://[::1]:8443', true, "public_url: https://[::1]:8443\nlisten: '[::1]:8443'"],
    ['https://bücher.example', true, "public_url: https://xn--bcher-kva.example\nlisten: '[::]:443'"],
  ])('%s gives a configuration', (text, hasIpv6, lines) => {
    const url = readSetupUrl(text).url!;
    const config = configText({ secretstorePort: null, stateDir: null }, url, hasIpv6);
    expect(config).toContain(lines);
    expect(config).toContain(`secretstore_url: https://${url.hostname}:8200\n`);
  });
});

it.each([
  ['ann', 'ann'],
  ['deployd-tenancy', 'admin'],
  ['oidc:ann', 'admin'],
  ['jürgen', 'admin'],
])('the operator of the user %s is %s', (user, name) => {
  expect(operatorNames(user).slice(0, 2)).toEqual([name, `${name}-2`]);
});

it.each([
  ['active', 'ActiveState=active\nSubState=running\nNRestarts=0\n'],
  ['starting', 'ActiveState=activating\nSubState=start\nNRestarts=0\n'],
  ['starting', 'ActiveState=inactive\nSubState=dead\nNRestarts=0\nJob=812\n'],
  ['starting', 'ActiveState=activating\nSubState=auto-restart\nNRestarts=1\nJob=812\n'],
  ['starting', 'ActiveState=failed\nSubState=failed\nNRestarts=0\nJob=812\n'],
  ['failed', 'ActiveState=activating\nSubState=auto-restart\nNRestarts=0\n'],
  ['failed', 'ActiveState=activating\nSubState=start-pre\nNRestarts=2\n'],
  ['failed', 'ActiveState=failed\nSubState=failed\nNRestarts=0\n'],
  ['failed', 'ActiveState=inactive\nSubState=dead\nNRestarts=0\n'],
])('a unit is %s', (state, properties) => {
  expect(unitStateOf(properties)).toBe(state);
});

describeIf(needsRoot, 'deployd-tenancy setup', () => {
  let dir: string;
  let home: string;
  let config: string;
  let url: string;
  let storePort: number;
  beforeEach(async () => {
    dir = tempDir();
    chmodSync(dir, 0o755);
    home = join(dir, 'home');
    config = join(dir, 'etc/config.yaml');
    for (const each of ['home', 'etc', 'state']) mkdirSync(join(dir, each));
    const passwd = `root:x:0:0::/root:/bin/sh\nann:x:${nobodyUid}:${nobodyUid}::${home}:/bin/sh\nbob:x:1:1::/away:/bin/sh\n`;
    writeFileSync(join(dir, 'passwd'), passwd);
    spawnSync('chown', [`${nobodyUid}:${nobodyUid}`, home]);
    url = `https://127.0.0.1:${await freePort()}`;
    storePort = await freePort();
  });

  /** A command line with other users in /etc/passwd; `prepare` are commands in its mount namespace. */
  const commandOf = (args: string[], prepare: string) => [
    ...['unshare', '--mount', 'sh', '-c', `mount --bind ${dir}/passwd /etc/passwd; ${prepare} exec "$@"`, 'sh'],
    ...[...tenancyProgram, 'setup', ...args, '--config', config],
  ];
  const usualArgs = () => [url, '--state-dir', join(dir, 'state'), '--secretstore-port', String(storePort)];
  const run = (args = usualArgs(), { user = 'ann', prepare = '' } = {}) => {
    const [program = '', ...words] = commandOf(args, prepare);
    const { status, stdout, stderr } = spawnSync(program, words, {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], SUDO_USER: user },
    });
    return { status, stdout, stderr };
  };
  const ctlFile = (name: string) => join(home, '.config/deployctl', name);
  const snapshot = () =>
    readdirSync(dir, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((path) => `${path} ${statSync(path).isFile() ? readFileSync(path, 'latin1') : ''}`);
  const rightsOf = (path: string) => {
    const { mode, uid, gid } = statSync(path);
    return `${(mode & 0o777).toString(8)} ${uid}:${gid}`;
  };
  const stored = () =>
    inStore(loadSettings(config), async (store) => ({
      operators: (await listOperators(store, Date.now())).map(({ name }) => name),
      envs: (await listEnvs(store, null)).map(({ name }) => name),
      keys: (await listSigningKeys(store)).length,
      user: (await findOperator(store, digestOfToken(readFileSync(ctlFile('token'), 'utf8').trim())!, Date.now()))
        ?.name,
    }));

  it('sets the service up for the user of sudo; run again, it keeps everything', async () => {
    const first = run();
    expect(first).toMatchObject({ status: 0 });
    expect(first.stdout).toMatch(/^written: configuration .*\n(created: .*\n){2}certificate: .*pin of its key: sha256/);
    expect(first.stdout).toContain('Start the service by');
    const nobody = `${nobodyUid}:${nobodyUid}`;
    expect([config, ...['config.yaml', 'token'].map(ctlFile)].map(rightsOf)).toEqual([
      '640 0:0',
      `600 ${nobody}`,
      `600 ${nobody}`,
    ]);
    expect(rightsOf(join(dir, 'state/store.key'))).toBe('600 0:0');
    expect(await stored()).toEqual({ operators: ['ann'], envs: ['main'], keys: 1, user: 'ann' });
    const before = snapshot().filter((line) => !line.includes('/state/'));
    const service = await startServing(config, tenancyProgram);
    try {
      const second = run();
      expect(second).toMatchObject({ status: 0 });
      expect(second.stdout.match(/^(kept|created|written|ready)/gm)).toEqual([
        ...Array<string>(6).fill('kept'),
        'ready',
      ]);
      const [program, ...words] = [...tenancyProgram, 'doctor', '--config', config];
      expect(spawnSync(program, words, { encoding: 'utf8' }).stdout).toMatch(/^secretstore +ok/m);
    } finally {
      await service.stop();
    }
    expect(snapshot().filter((line) => !line.includes('/state/'))).toEqual(before);
    expect(await stored()).toEqual({ operators: ['ann'], envs: ['main'], keys: 1, user: 'ann' });
  }, 120_000);

  it('serves files of the service to its own user', () => {
    spawnSync('chown', [`${nobodyUid}:${nobodyUid}`, join(dir, 'state')]);
    expect(run()).toMatchObject({ status: 0 });
    for (const name of readdirSync(join(dir, 'state')))
      expect(rightsOf(join(dir, 'state', name))).toBe(`600 ${nobodyUid}:${nobodyUid}`);
    expect(rightsOf(config)).toBe(`640 0:${nobodyUid}`);
  }, 60_000);

  it('gives a user another token after theirs was revoked, and keeps the name for the log', async () => {
    run();
    await inStore(loadSettings(config), async (store) => {
      const [ann] = await listOperators(store, Date.now());
      await store.transaction().execute((work) => revokeOperator(work, ann!.id, Date.now()));
    });
    const revoked = readFileSync(ctlFile('token'), 'utf8');
    expect(run()).toMatchObject({ status: 0 });
    expect(readFileSync(ctlFile('token'), 'utf8')).not.toBe(revoked);
    expect(await stored()).toMatchObject({ operators: ['ann'], user: 'ann' });
  }, 60_000);

  it('leaves the operator of another token alone', async () => {
    run();
    spawnSync('rm', ['-r', join(home, '.config')]);
    expect(run()).toMatchObject({ status: 0 });
    expect(await stored()).toMatchObject({ operators: ['ann', 'ann-2'], user: 'ann-2' });
  }, 60_000);

  it.each([0, 1, 3, 5])(
    'ends well after a kill behind line %i, and shortly after it',
    async (line) => {
      const [program = '', ...words] = commandOf(usualArgs(), '');
      const env = { PATH: process.env['PATH'], SUDO_USER: 'ann' };
      for (const delayMs of [0, 3 * (line + 1)]) {
        const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'ignore'] });
        const ended = once(child, 'close');
        const lines = createInterface(child.stdout);
        for (let seen = 0; seen <= line; seen += 1) await Promise.race([once(lines, 'line'), ended]);
        await setTimeout(delayMs);
        child.kill('SIGKILL');
        await ended;
      }
      expect(run()).toMatchObject({ status: 0 });
      expect(await stored()).toEqual({ operators: ['ann'], envs: ['main'], keys: 1, user: 'ann' });
      expect(readFileSync(ctlFile('config.yaml'), 'utf8')).toContain(`url: "${url}/"`);
      expect(rightsOf(config)).toBe('640 0:0');
    },
    120_000,
  );

  const otherLogin = () => {
    mkdirSync(join(home, '.config/deployctl'), { recursive: true });
    writeFileSync(ctlFile('config.yaml'), 'url: "https://other.example/"\n');
  };
  const listening = createServer();
  const takePort = () => once(listening.listen(Number(new URL(url).port), '127.0.0.1'), 'listening');
  afterAll(() => void listening.close());
  it.each<[string, () => unknown, { args?: string[]; user?: string }, RegExp]>([
    ['an address without https', () => undefined, { args: ['http://127.0.0.1'] }, /must not travel unencrypted/],
    [
      'another address than the configuration',
      () => void run(),
      { args: ['https://b.example'] },
      /public_url is https/,
    ],
    [
      'another port than the configuration',
      () => void run(),
      { args: ['URL', '--secretstore-port', '1'] },
      /the port of secretstore\.listen is \d+ there, not 1; .*\nnothing was changed/,
    ],
    ['an unknown user', () => undefined, { user: 'eve' }, /^the user eve, who called sudo, is unknown/],
    ['a user without a home', () => undefined, { user: 'bob' }, /^\/away, the home directory of bob, does not exist/],
    ['a user of another service', otherLogin, {}, /belongs to the service https:\/\/other\.example\/: move it away/],
    ['a port that is taken', takePort, {}, /^port \d+ is in use: sudo ss -ltnp shows by which program.*\nnothing was/],
    [
      'a missing state directory',
      () => undefined,
      { args: ['URL', '--state-dir', '/away'] },
      /\/away does not exist; to/,
    ],
    [
      'an invalid configuration',
      () => writeFileSync(config, 'lisen: 1\n'),
      {},
      /lisen: unknown key; the nearest known key is listen/,
    ],
    [
      'one port for both',
      () => undefined,
      { args: ['https://a.example:8200'] },
      /^port 8200 is the port of the service already/,
    ],
  ])(
    'refuses %s, and changes nothing',
    async (_what, prepare, { args, user = 'ann' }, message) => {
      await prepare();
      const before = snapshot();
      const words = args?.map((word) => (word === 'URL' ? url : word));
      const { status, stdout, stderr } = run(words, { user });
      expect({ status: status === 0, stdout, stderr }).toEqual({
        status: false,
        stdout: '',
        stderr: expect.stringMatching(message) as string,
      });
      expect(snapshot()).toEqual(before);
    },
    60_000,
  );

  it.each(['etc', 'state', 'home'])(
    'on a full disk of %s, says what to do, and continues there',
    async (full) => {
      const place = join(dir, full);
      const owner = full === 'home' ? `,uid=${nobodyUid}` : '';
      const small = `mount -t tmpfs -o size=4k,mode=0755${owner} none ${place}; head -c 4096 /dev/zero >${place}/big;`;
      const { status, stderr } = run(usualArgs(), { prepare: small });
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(
          /free some space, then run setup again: it continues where it has stopped\n$/,
        ) as string,
      });
      expect(run()).toMatchObject({ status: 0 });
      expect(await stored()).toEqual({ operators: ['ann'], envs: ['main'], keys: 1, user: 'ann' });
    },
    60_000,
  );
});
