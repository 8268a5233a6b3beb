import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';
import { type Receiver, signersOf, startReceiver } from '../../../fixtures/world/tenancy/receiver.ts';
import { runBackgroundOnce } from '../../tenancy/server/background.ts';

let at: ServiceWithOperators;
let receiver: Receiver;
let now = Date.now();
beforeAll(async () => {
  at = await startWithOperators({ clock: () => now });
  await at.admin.run('env create eu-1');
});
afterAll(() => at.stop());
beforeEach(async () => void (receiver = await startReceiver()));
afterEach(() => receiver.stop());

const work = () => runBackgroundOnce(at.service.deps, new AbortController().signal);
const withUrl = () => ({ env: at.admin.home.env, stdin: `${receiver.url}\n` });
const add = async (command: string) => {
  const { id, secret } = await at.admin.json(`webhook add ${command}`, withUrl());
  return { id: String(id), secret: String(secret) };
};

it('reads the URL from standard input, and writes the secret into a file of its owner', async () => {
  const file = join(at.admin.home.dir, 'webhook secret');
  const command = ['webhook', 'add', 'chat', '--env', 'eu-1', '--event', 'backend.failed', '--output', file];
  const { exit, stdout } = await at.admin.run(command, withUrl());
  const origin = new URL(receiver.url).origin;
  expect(stdout.replace(/[0-9a-f-]{36}/, 'ID')).toBe(
    `webhook  ID\nto       ${origin}, standard\nof       eu-1\nevents   backend.failed\nthe secret is in ${file}\n`,
  );
  expect([exit, (await stat(file)).mode & 0o777]).toEqual([0, 0o600]);
  expect(await readFile(file, 'utf8')).toMatch(/^whsec_\S+\n$/);
});

it.each([
  ['--no-event --event backend.back', ['backend.back']],
  ['--event backend.back --no-event', []],
])('takes the last of %s', async (options, events) => {
  expect(await at.admin.json(`webhook add last ${options}`, withUrl())).toMatchObject({ events });
});

it('describes the form of an id', async () => {
  const { exit, stderr } = await at.admin.run('webhook test chat');
  expect([exit, stderr]).toEqual([
    2,
    expect.stringMatching(/^deployctl: REQUEST_INVALID: params\.id must be an id, such as /),
  ]);
});

it('tests a webhook, and rotates its secret', async () => {
  const { id, secret } = await add('pager');
  expect(await at.admin.run(`webhook test ${id}`)).toMatchObject({
    exit: 0,
    stdout: 'the endpoint has taken it (204)\n',
  });
  const rotated = await at.admin.json(`webhook rotate ${id}`);
  receiver.replies.push(500);
  const failed = await at.admin.run(`webhook test ${id}`);
  expect(failed).toMatchObject({ exit: 1, stdout: 'not delivered: the endpoint answered 500\n' });
  const secrets = [secret, String(rotated['secret'])];
  expect(receiver.arrivals.map((arrival) => signersOf(arrival, secrets))).toEqual([[secret], secrets]);
});

it('refuses the address of the metadata of a cloud at once', async () => {
  const { exit, stderr } = await at.admin.run('webhook add inside', {
    env: at.admin.home.env,
    stdin: 'https://169.254.169.254/',
  });
  expect([exit, stderr]).toEqual([1, expect.stringMatching(/^deployctl: WEBHOOK_URL_INVALID: .*forbidden address/)]);
});

it('shows what waits and what could not be delivered, and tries it again', async () => {
  const { id } = await add('ops --event backend.failed --event backend.refused');
  const host = await addHost(at.service);
  await host.checkIn();
  await host.report('failed', { code: 'PULL_FAILED' });
  receiver.replies.push(500, 500);
  await work();
  const { stdout } = await at.admin.run('webhook list');
  expect(stdout).toMatch(/^ID +NAME +ENV +FORMAT +TO +PENDING +DEAD +ERROR$/m);
  expect(stdout).toMatch(new RegExp(`^${id}  ops +all +standard +\\S+ +1 +0 +the endpoint answered 500$`, 'm'));
  now += 24 * 3600_000;
  await work();
  const dead = await at.admin.run(`webhook dead ${id}`);
  expect(dead.stdout).toMatch(/^msg_\S+ +backend.failed +eu-1 +\S+ +2 +the endpoint answered 500$/m);
  const [delivery] = /msg_\S+/.exec(dead.stdout)!;
  expect((await at.admin.run(`webhook redeliver ${id} ${delivery}`)).stdout).toBe('1 of them are tried again\n');
  await work();
  expect(receiver.arrivals.map(({ event }) => event.type)).toEqual(Array(3).fill('backend.failed'));
  expect((await at.admin.run(`webhook remove ${id}`)).exit).toBe(0);
  expect((await at.admin.run(`webhook test ${id}`)).exit).toBe(1);
});

it.each([
  ['webhook add x --event all', 2],
  ['webhook add x --format email', 2],
  ['webhook add x --env none', 1],
  ['webhook redeliver x', 2],
] as const)('`%s` ends with %i', async (command, exit) => {
  expect(await at.admin.run(command, withUrl())).toMatchObject({ exit, stdout: '' });
});

it('shows no secret on a terminal that was not asked for, and creates nothing then', async () => {
  const before = await at.admin.json('webhook list');
  const terminal = { ...withUrl(), terminal: 80 };
  expect(await at.admin.run('webhook add x', terminal)).toMatchObject({ exit: 2, stdout: '' });
  expect(await at.admin.json('webhook list')).toEqual(before);
});

it('is for administrators of all environments or of the one', async () => {
  const exitOf = async ({ home, run }: typeof at.admin, command: string) =>
    (await run(command, { env: home.env, stdin: receiver.url })).exit;
  expect(await exitOf(at.deployer, 'webhook add x')).toBe(77);
  expect(await exitOf(at.limited, 'webhook add x')).toBe(77);
  expect(await exitOf(at.limited, 'webhook add x --env eu-1')).toBe(0);
});
