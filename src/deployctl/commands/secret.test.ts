import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
});
beforeEach(() => at.service.secretstore.secrets.clear());
afterAll(() => at.stop());

const set = (stdin: string, ...more: string[]) =>
  at.deployer.run(['secret', 'set', 'eu-1', 'db', ...more], { env: at.deployer.home.env, stdin });
/** Makes a bundle desired that reads the secret. */
const deploy = async () => {
  const secrets = [{ var: 'DB', path: 'deployd/data/eu-1/see/db', field: 'value' }];
  const compose = { services: { web: { image: 'app:1', environment: { DB: '${DB}' } } } };
  const { bytes, sha } = createBundle({ env: 'eu-1', secrets, compose });
  const admin = await addOperator(at.service);
  await admin.push(bytes);
  await admin.call('PUT envs/eu-1/desired', { sha256: sha });
  return sha;
};
const versions = () => at.service.secretstore.secrets.get('eu-1/db');

it('writes the value of standard input without its last line break, and never shows it', async () => {
  expect(await set('hunter2\n')).toEqual({
    exit: 0,
    stderr: '',
    stdout: 'secret   deployd/data/eu-1/see/db\nversion  1\nbundle   none reads it\n',
  });
  expect(versions()).toEqual([{ value: 'hunter2' }]);
});

it('lists the hosts that would refuse the bundle that it makes', async () => {
  const sha256 = await deploy();
  const host = await addHost(at.service, 'eu-1');
  await host.checkIn({
    applied_sha: sha256,
    policy: { limits: { bundle_bytes: 1, unpacked_bytes: 1, bundle_entries: 1 } },
  });
  const { exit, stdout } = await set('hunter2');
  expect(exit).toBe(0);
  expect(stdout).toMatch(/^bundle {3}[0-9a-f]{64}, sequence 2, is desired$/m);
  expect(stdout).toMatch(
    new RegExp(
      `^warning {2}BUNDLE_UNSAFE: \\d+ bytes, limits.bundle_bytes allows 1: refused by host-1 \\(${host.id}\\)$`,
      'm',
    ),
  );
  await at.service.deps.store.updateTable('envs').set({ desired_sha: null }).execute();
});

it.each([
  ['a\nb\n\n', 'a\nb\n'],
  ['', ''],
  ['größe\r\n', 'größe'],
  ['\ufeffx', '\ufeffx'],
])('takes %j for %j', async (stdin, value) => {
  await set(stdin);
  expect(versions()).toEqual([{ value }]);
});

it('writes one field, or all of a JSON object', async () => {
  await set('s3cret', '--field', 'password');
  await set('{"user": "ann", "password": "x\\n"}', '--json-fields');
  expect(versions()).toEqual([{ password: 's3cret' }, { user: 'ann', password: 'x\n' }]);
});

it('keeps the fields that it does not write', async () => {
  await set('{"user": "ann", "password": "x"}', '--json-fields');
  await set('y', '--field', 'password');
  expect(versions()).toEqual([
    { user: 'ann', password: 'x' },
    { user: 'ann', password: 'y' },
  ]);
});

it('overwrites no version that somebody else has written meanwhile', async () => {
  await set('{"user": "ann", "password": "x"}', '--json-fields');
  await set('{"user": "bea", "password": "x"}', '--json-fields', '--if-version', '1');
  const { exit, stderr } = await set('{"user": "ann", "password": "y"}', '--json-fields', '--if-version', '1');
  expect(exit).toBe(1);
  expect(stderr).toMatch(/SECRET_CHANGED: the newest version of db is not 1: nothing was written\n {2}→ somebody else/);
  expect(versions()).toHaveLength(2);
});

it('takes a file byte for byte', async () => {
  const file = join(at.deployer.home.dir, 'cert.pem');
  await writeFile(file, 'pem\n');
  await set('not this', '--from-file', file);
  expect(versions()).toEqual([{ value: 'pem\n' }]);
});

it('asks on a terminal, without echo', async () => {
  const outcome = await at.deployer.run('secret set eu-1 db', {
    env: at.deployer.home.env,
    stdin: 'hunter2\r',
    terminal: 80,
  });
  expect(outcome).toMatchObject({ exit: 0, stderr: 'value of db: \n' });
  expect(outcome.stdout).not.toContain('hunter2');
  expect(versions()).toEqual([{ value: 'hunter2' }]);
});

it.each([
  ['not json', '--json-fields'],
  ['["hunter2"]', '--json-fields'],
  ['{"a": {"b": "hunter2"}}', '--json-fields'],
  ['{"a": 1}', '--json-fields'],
  ['{"a": "hunter2"}', '--json-fields', '--field', 'x'],
  ['{}', '--json-fields'],
  ['hunter2\u0000'],
  ['x', '--from-file', '/nonexistent'],
  ['x', '--from-file', '/'],
  ['hunter2', '--field', ''],
])('%j with %s %s %s is wrong usage, and not repeated', async (stdin, ...more) => {
  const { exit, stdout, stderr } = await set(stdin, ...more);
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  expect(stderr).not.toContain('hunter2');
  expect(versions()).toBeUndefined();
});

it('a value that is too long is refused before it is sent', async () => {
  expect(await set('x'.repeat(1_048_577))).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('1048576 bytes') as string,
  });
});

it.each([['hunter2'], ['api=hunter2'], ['api=@'], ['api=@/nonexistent', '--from-file', '/etc/hostname']])(
  'a value is never an argument: %s',
  async (...more) => {
    const { exit, stdout, stderr } = await set('', ...more);
    expect([exit, stdout]).toEqual([2, '']);
    expect(stderr).not.toContain('hunter2');
    expect(versions()).toBeUndefined();
  },
);

it('sets several from files and standard input, and deploys them by one bundle', async () => {
  await deploy();
  const file = join(at.deployer.home.dir, 'db.txt');
  await writeFile(file, 'one\n');
  const outcome = await at.deployer.run(['secret', 'set', 'eu-1', `db=@${file}`, 'api=@-'], {
    env: at.deployer.home.env,
    stdin: 'two\n',
  });
  expect(outcome).toMatchObject({ exit: 0, stderr: '' });
  expect(outcome.stdout).toMatch(
    /^secret {3}deployd\/data\/eu-1\/see\/db\nversion {2}1\nsecret {3}\S+\/api\nversion {2}1\nbundle {3}[0-9a-f]{64}, sequence \d+, is desired$/m,
  );
  expect([versions(), at.service.secretstore.secrets.get('eu-1/api')]).toEqual([
    [{ value: 'one\n' }],
    [{ value: 'two' }],
  ]);
  await at.service.deps.store.updateTable('envs').set({ desired_sha: null }).execute();
});

describe('an env file', () => {
  const setFrom = async (text: string, ...keys: string[]) => {
    const file = join(at.deployer.home.dir, 'e.env');
    await writeFile(file, text);
    return at.deployer.run(['secret', 'set', 'eu-1', ...keys, '--from-env-file', file], { env: at.deployer.home.env });
  };
  const text = "A_TOKEN=one\nB='t$w'\nC=$A_TOKEN-x\n";
  const stored = (key: string) => at.service.secretstore.secrets.get(`eu-1/${key}`);

  it('has the values of several secrets, which are written at once', async () => {
    expect(await setFrom(text, 'a=A_TOKEN', 'bc=B,C')).toMatchObject({ exit: 0, stderr: '' });
    expect([stored('a'), stored('bc')]).toEqual([[{ a_token: 'one' }], [{ b: 't$w', c: 'one-x' }]]);
  });

  it('has all fields of one secret', async () => {
    expect(await setFrom(text, 'all')).toMatchObject({ exit: 0, stderr: '' });
    expect(stored('all')).toEqual([{ a_token: 'one', b: 't$w', c: 'one-x' }]);
  });

  it.each([
    [text, ['a=hunter2'], 'e.env does not set all variables of a'],
    [text, ['a=A_TOKEN,hunter2'], 'e.env does not set all variables of a'],
    ['a=1\nA=hunter2\n', ['k'], 'e.env does not set all variables of k, or two whose names differ only in case'],
    ['A=1\nhunter2 !\n', ['a'], 'e.env has 1 line that cannot be read'],
    ['', ['a'], 'e.env does not set all variables of a'],
    [text, ['a='], 'KEY=NAME needs a key'],
    [text, ['a=A_TOKEN', 'a=B'], 'a key was given twice'],
    [text, ['a', '--field', 'x'], 'cannot be used with'],
  ])('%j with %j is wrong usage, and no value is repeated', async (content, keys, message) => {
    const { exit, stdout, stderr } = await setFrom(content, ...keys);
    expect([exit, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('hunter2');
    expect(at.service.secretstore.secrets.size).toBe(0);
  });
});

it('lists names with versions and who has written them, and deletes', async () => {
  await set('1');
  await set('2');
  const { name: written_by } = (await at.deployer.json('whoami')) as { name: string };
  expect((await at.viewer.run('secret list eu-1')).stdout).toMatch(
    new RegExp(`^KEY  VERSION  WRITTEN +BY\\ndb   2        .*Z \\(.*\\)  ${written_by}\\n$`),
  );
  const written_at = expect.stringMatching(/Z$/) as string;
  expect(await at.viewer.json('secret list eu-1')).toEqual({
    destroy_at: null,
    secrets: [{ key: 'db', version: 2, written_at, written_by }],
  });
  // By somebody at the secretstore itself.
  versions()?.push({ value: '3' });
  expect(await at.viewer.json('secret list eu-1')).toEqual({
    destroy_at: null,
    secrets: [{ key: 'db', version: 3, written_at: null, written_by: null }],
  });
  expect(await at.admin.run('secret delete eu-1 db')).toMatchObject({
    exit: 0,
    stdout: 'secret db of eu-1 is deleted\n',
  });
  at.service.secretstore.secrets.set('eu-1/db', [{ value: '1' }]);
  expect(await at.viewer.json('secret list eu-1')).toMatchObject({ secrets: [{ version: 1, written_by: null }] });
  at.service.secretstore.secrets.clear();
  expect(await at.admin.run('secret delete eu-1 db')).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('SECRET_NOT_FOUND') as string,
  });
});

it('while the secretstore is away a secret is set by nobody: exit 75', async () => {
  at.service.secretstore.away = true;
  const outcome = await set('x');
  at.service.secretstore.away = false;
  expect(outcome).toMatchObject({ exit: 75, stderr: expect.stringContaining('PEER_UNAVAILABLE') as string });
});
