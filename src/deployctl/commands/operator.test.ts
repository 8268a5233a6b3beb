import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
});
afterAll(() => at.stop());

it('shows the owner of the token', async () => {
  expect(await at.limited.json('whoami')).toEqual({
    ...{ name: 'admin of eu-1', role: 'admin', envs: ['eu-1'] },
    permissions: [{ role: 'admin', envs: ['eu-1'] }],
  });
  expect((await at.viewer.run('whoami')).stdout).toBe('name  viewer\nrole  viewer\nenvs  all\n');
});

it('writes a new token into a file of its owner, with which one logs in', async () => {
  const file = join(at.admin.home.dir, 'ci token');
  const create = ['operator', 'create', 'ci', '--role', 'deployer', '--env', 'eu-1', '--output', file];
  const { exit, stdout } = await at.admin.run(create, { env: at.admin.home.env, terminal: 80 });
  expect({ exit, stdout }).toEqual({
    exit: 0,
    stdout: `name  ci\nrole  deployer\nenvs  eu-1\nends  never\nthe token is in ${file}\n`,
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const whoAmI = await deployctl(['whoami', '--token-file', file, '--json'], { env: at.admin.home.env });
  expect(JSON.parse(whoAmI.stdout)).toMatchObject({ name: 'ci', role: 'deployer', envs: ['eu-1'] });
  expect(await readFile(file, 'utf8')).not.toContain(at.admin.token);
});

it('prints a new token into a pipe, on a terminal only when asked', async () => {
  const piped = await at.admin.json('operator create a --role viewer');
  expect(piped).toMatchObject({
    name: 'a',
    role: 'viewer',
    envs: null,
    token: expect.stringMatching(/^dpo_/) as string,
  });
  const terminal = { env: at.admin.home.env, terminal: 80 };
  expect(await at.admin.run('operator create b --role viewer', terminal)).toMatchObject({ exit: 2, stdout: '' });
  const shown = await at.admin.run('operator create b --role viewer --show', terminal);
  expect(shown.stdout).toMatch(/\ntoken\ndpo_[\w-]{43}\n$/);
});

it('lists tokens without the tokens, and revokes one', async () => {
  const { id, token } = await at.admin.json('operator create cd --role viewer');
  const { stdout } = await at.admin.run('operator list');
  expect(stdout).toMatch(/^ID +NAME +ROLE +ENVS +AGE +USED +EXPIRES +NOTE$/m);
  expect(stdout).not.toContain(String(token));
  expect(await at.admin.run(`operator revoke ${String(id)}`)).toMatchObject({ exit: 0 });
  const { operators } = (await at.admin.json('operator list')) as { operators: { name: string }[] };
  expect(operators.map(({ name }) => name)).not.toContain('cd');
});

it('gives a token an end, or keeps it for emergencies', async () => {
  expect(await at.admin.json('operator create night --role deployer --expires 12h')).toMatchObject({
    break_glass: false,
    expires_at: expect.stringMatching(/^20\d\d-/) as string,
  });
  expect((await at.admin.run('operator create soon --role viewer --expires 2h')).stdout).toMatch(
    /^ends {2}20\S+ \(in (119m|2h)\)$/m,
  );
  expect((await at.admin.run('operator create safe --role admin --break-glass')).stdout).toMatch(/^ends {2}never$/m);
  const { stdout } = await at.admin.run('operator list');
  expect(stdout).toMatch(/ night +deployer +all +0s +- +11h$/m);
  expect(stdout).toMatch(/ safe +admin +all +0s +- +never +break-glass$/m);
});

it.each([
  ['operator create ci --role viewer --expires 0d', 2],
  ['operator create ci --role viewer --expires 12', 2],
  ['operator create ci', 2],
  ['operator create ci --role god', 2],
  ['operator create admin --role admin', 1],
  ['operator create ci --role viewer --env us-1', 1],
  ['operator create ci --role viewer --env US', 2],
  ['operator revoke x', 2],
] as const)('`%s` ends with %i', async (command, exit) => {
  expect(await at.admin.run(command)).toMatchObject({ exit, stdout: '' });
});

it('shows who did what, refusals too, and names that could lead a reader astray are harmless', async () => {
  await at.admin.run(['operator', 'create', 'x', '--role', 'viewer', '--display-name', 'x\u202ereversed']);
  await at.viewer.run('env create us-1');
  const { stdout } = await at.admin.run('audit');
  expect(stdout).toMatch(/^AT +ACTOR +ACT +TARGET +ENV +FROM +RESULT$/m);
  expect(stdout).toMatch(/ viewer +env.create +us-1 .*FORBIDDEN$/m);
  expect(stdout).toMatch(/ admin +operator.create +\S+ x .*ok$/m);
  expect((await at.admin.run('operator list')).stdout).toMatch(/ x \(x\ufffdreversed\) +viewer /);
  const { entries, next } = (await at.admin.json('audit --limit 2')) as { entries: { id: number }[]; next: number };
  expect(entries).toHaveLength(2);
  expect(next).toBe(entries[1]!.id);
  const acts = async (options: string) => {
    const { entries: chosen } = (await at.admin.json(`audit ${options}`)) as {
      entries: { act: string; actor: string }[];
    };
    return new Set(chosen.map(({ act, actor }) => `${act} by ${actor}`));
  };
  expect(await acts('--act env.create --actor admin')).toEqual(new Set(['env.create by admin']));
  expect(await at.limited.json('audit')).toMatchObject({ entries: [{ act: 'env.create', env: 'eu-1' }], next: null });
});

it('exports the audit log as JSON lines of settled entries, from an entry on', async () => {
  const fields = { actor: 'x', target: '\u202e', env: 'eu-1', address: null, request_id: null, result: 'ok' };
  const rows = Array.from({ length: 600 }, (_, index) => ({ ...fields, at: index, act: `env.${index}` }));
  await at.service.deps.store.insertInto('audit').values(rows).execute();
  const { stdout } = await at.admin.run('audit export --env eu-1');
  const entries = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: number; act: string });
  expect(entries.map(({ act }) => act)).toEqual(rows.map(({ act }) => act));
  expect([stdout.includes('\u202e'), entries[0]]).toMatchObject([false, { target: '\u202e', count: 1 }]);
  const { stdout: rest } = await at.admin.run(`audit export --actor x --after ${entries[597]!.id}`);
  expect(rest).toMatch(/^\{"id":\d+,.*"act":"env.598".*\n.*"act":"env.599".*\n$/);
});
