import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';

let at: ServiceWithOperators;
let env: string;
let ids: string[];
let count = 0;
beforeAll(async () => {
  at = await startWithOperators();
});
beforeEach(async () => {
  env = `env-${count++}`;
  const hosts = [await addHost(at.service, env), await addHost(at.service, env)];
  for (const host of hosts) await host.checkIn();
  ids = hosts.map(({ id }) => id);
});
afterAll(() => at.stop());

const labelsOf = async (id: string) => (await at.viewer.json(`host show ${id}`))['labels'];

it('adds, changes and removes labels of one host, and leaves the others alone', async () => {
  const [id = ''] = ids;
  await at.admin.run(`host label ${id} ring=late tier=2`);
  expect(await at.admin.run(`host label ${id} --add ring=canary --add new=1 --remove tier`)).toMatchObject({ exit: 0 });
  expect(await labelsOf(id)).toEqual({ ring: 'canary', new: '1' });
  const { stdout } = await at.admin.run(`audit --host ${id} --act backend.labels --limit 1`);
  expect(stdout).toMatch(/^AT .* CHANGE\n.* ring=late tier=2 → new=1 ring=canary\n$/);
  expect(await at.admin.run(`host label ${id} ring=late --add a=b`)).toMatchObject({ exit: 2 });
});

it('changes the labels of all hosts that match, after a preview', async () => {
  const change = `host label --env ${env} --add ring=late`;
  const preview = await at.admin.run(change);
  expect(preview.exit).toBe(1);
  expect(preview.stderr).toMatch(
    /^this will change the labels of 2 hosts:\n {2}host-1 \(.*\)\n {2}host-1 \(.*\)\ndeployctl: CONFIRM_REQUIRED: nothing was changed\n/,
  );
  const ask = (stdin: string) => at.admin.run(change, { terminal: 200, stdin });
  expect(await ask('yes\n')).toMatchObject({ exit: 1, stderr: expect.stringContaining('NOT_CONFIRMED') as string });
  expect(await labelsOf(ids[0]!)).toEqual({});
  expect(await ask('2\n')).toMatchObject({ exit: 0, stdout: 'host-1: ring=late\nhost-1: ring=late\n' });
  expect(await at.admin.json(`${change} --remove ring --confirm`)).toMatchObject({
    hosts: [{ labels: { ring: 'late' } }, {}],
  });
});

it.each([
  ['host label --confirm --add a=b', 2, 'NAME_INVALID'],
  ['host label --env nosuch --confirm --add a=b', 1, 'ENV_NOT_FOUND'],
  ['host label --search nosuch --confirm --add a=b', 1, 'FILTER_UNKNOWN'],
  ['host label web-1 --env eu-1 --add a=b', 2, 'NAME_INVALID'],
  ['retire --confirm', 2, 'NAME_INVALID'],
  ['kit --env eu-1 --confirm', 2, 'TERMINAL'],
])('`%s` changes nothing: exit %i', async (command, exit, code) => {
  expect(await at.admin.run(command)).toMatchObject({
    exit,
    stdout: '',
    stderr: expect.stringContaining(code) as string,
  });
});

it('writes the kit of each host to its own directory', async () => {
  const output = join(tempDir(), 'kits');
  expect(await at.admin.run(['kit', '--env', env, '--output', output, '--confirm'])).toMatchObject({ exit: 0 });
  expect(ids.map((id) => existsSync(join(output, id, 'bootstrap.jwt')))).toEqual([true, true]);
});

it('retires the hosts that it can, and names those that it cannot', async () => {
  await at.service.deps.store.updateTable('backends').set({ state: 'offline' }).where('id', '=', ids[0]!).execute();
  const { exit, stdout, stderr } = await at.admin.run(`retire --env ${env} --confirm --secrets keep`);
  expect(exit).toBe(1);
  expect(stderr).toContain('this will stop the services of, and retire, 2 hosts:\n');
  expect(stdout.split('\n').slice(0, 2).toSorted()).toEqual([
    expect.stringContaining('BACKEND_OFFLINE'),
    'host-1: host host-1 is retiring',
  ]);
});

it('fails for an export of the audit log whose filter names nothing', async () => {
  expect(await at.admin.run('audit export --act typo')).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('FILTER_UNKNOWN') as string,
  });
  expect(await at.admin.run('audit --host nosuch')).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('HOST_UNKNOWN') as string,
  });
});
