import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { addHost, offerBytes } from '../../../fixtures/world/tenancy/host.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
});
afterAll(() => at.stop());

it('creates, shows, lists and deletes envs', async () => {
  expect(await at.admin.json('env create eu-1 --production')).toEqual({
    name: 'eu-1',
    production: true,
    desired_sha: null,
    desired_since: null,
    previous_sha: null,
    held_since: null,
    last_sequence: 0,
    backends: expect.any(Object) as object,
    trust: null,
    secrets_destroy_at: null,
    desired: null,
    newest: null,
  });
  expect((await at.viewer.run('env show eu-1')).stdout).toBe(
    'env         eu-1\nproduction  yes\ndesired     nothing\nsequence    0\nbackends    none\n',
  );
  await addHost(at.service, 'us-1');
  const { stdout } = await at.viewer.run('env list');
  expect(stdout.split('\n')).toEqual([
    'ENV   PRODUCTION  DESIRED  SEQUENCE  BACKENDS',
    'eu-1  yes         -        0         none',
    'us-1  no          -        0         1 invited',
    '',
  ]);
  expect(await at.admin.run('env delete eu-1')).toEqual({
    exit: 0,
    stderr: '',
    stdout: 'environment eu-1 is deleted\n',
  });
  expect(await at.viewer.json('env list')).toMatchObject({ envs: [{ name: 'us-1' }] });
  expect(await at.admin.run('env show eu-1')).toMatchObject({ exit: 1 });
});

it('prints the meaning of a refusal and its cure', async () => {
  await addHost(at.service, 'eu-2');
  const refused = async (command: string) => {
    const { exit, stdout, stderr } = await at.admin.run(command);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    return stderr;
  };
  expect(await refused('env create eu-2')).toMatch(/^deployctl: ENV_EXISTS: .*\n {2}→ /);
  expect(await refused('env delete eu-2')).toMatch(/^deployctl: ENV_IN_USE: .*\n {2}→ retire its hosts first/);
  expect(await refused('env show us-2')).toMatch(/^deployctl: ENV_NOT_FOUND: /);
});

it('sets the sequence of an environment, above its bundles', async () => {
  await addHost(at.service, 'eu-4');
  expect(await at.admin.json('env sequence eu-4 --set 41')).toMatchObject({ name: 'eu-4', last_sequence: 41 });
  expect((await at.admin.run('env sequence eu-4 --set 42')).stdout).toContain('sequence    42\n');
  await offerBytes(at.service, 'eu-4', Buffer.from('y'));
  expect((await at.admin.run('env sequence eu-4 --set 42')).stderr).toMatch(
    /^deployctl: SEQUENCE_STALE: .* sequence 43: /,
  );
  expect(await at.deployer.run('env sequence eu-4 --set 60')).toMatchObject({ exit: 77 });
});

it.each([
  'env create Eu_1',
  'env show Eu_1',
  'env create',
  'env sequence eu-4',
  `env sequence eu-4 --set ${2 ** 47 + 1}`,
])('`%s` is wrong usage', async (command) => {
  expect(await at.admin.run(command)).toMatchObject({ exit: 2, stdout: '' });
});

it('makes a bundle, or how its digest begins, the desired one, or none', async () => {
  await addHost(at.service, 'eu-3');
  const sha = await offerBytes(at.service, 'eu-3', Buffer.from('x'));
  for (const name of [sha, sha.slice(0, 12)]) {
    expect(await at.deployer.json('promote eu-3 --none')).toMatchObject({ name: 'eu-3', desired_sha: null });
    expect(await at.deployer.json(`promote eu-3 ${name}`)).toMatchObject({ name: 'eu-3', desired_sha: sha });
  }
  expect((await at.deployer.run(`promote eu-3 ${sha}`)).stdout).toContain(`desired     ${sha}\n`);
});

it.each([
  [`promote eu-3 ${'0'.repeat(64)}`, 1, 'BUNDLE_NOT_FOUND'],
  ['promote eu-3 00000000', 1, 'BUNDLE_NOT_FOUND: no bundle of eu-3 begins with 00000000'],
  ['promote eu-3 0000000', 2, 'SHA_INVALID'],
  ['promote eu-3', 2, 'SHA_INVALID'],
  [`promote eu-3 ${'0'.repeat(64)} --none`, 2, 'SHA_INVALID'],
] as const)('`%s` ends with %i', async (command, exit, code) => {
  const outcome = await at.deployer.run(command);
  expect(outcome).toMatchObject({ exit, stdout: '', stderr: expect.stringContaining(`deployctl: ${code}`) as string });
});

it('promotes only under its conditions, and ends with 3 where another one came first', async () => {
  await addHost(at.service, 'eu-4');
  const [one, two] = [
    await offerBytes(at.service, 'eu-4', Buffer.from('1')),
    await offerBytes(at.service, 'eu-4', Buffer.from('2')),
  ];
  const exitOf = async (more: string, sha = one) => {
    const { exit, stderr } = await at.deployer.run(`promote eu-4 ${sha} ${more}`);
    return [exit, /^deployctl: (\w+)/.exec(stderr)?.[1] ?? ''];
  };
  expect((await at.deployer.run('promote eu-4 --none')).exit).toBe(0);
  expect(await exitOf('--if-desired none --pipeline 7')).toEqual([0, '']);
  expect(await exitOf('--if-desired none', two)).toEqual([3, 'DESIRED_DIFFERS']);
  expect(await exitOf('--pipeline 6', two)).toEqual([3, 'PIPELINE_STALE']);
  expect(await exitOf(`--if-desired ${one.slice(0, 12)} --pipeline 7`, two)).toEqual([0, '']);
  expect(await exitOf('--if-desired 0000', two)).toEqual([2, 'SHA_INVALID']);
  expect((await at.deployer.run(`promote eu-4 ${one} --pipeline x`)).exit).toBe(2);
});
