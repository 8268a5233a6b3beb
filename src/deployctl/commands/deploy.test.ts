import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sleeplessClock } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { addHost, type Host } from '../../../fixtures/world/tenancy/host.ts';
import { advanceRollouts } from '../../tenancy/rollouts/advance.ts';

let at: ServiceWithOperators;
let env: string;
let hosts: Host[];
let count = 0;
const parent = tempDir();
beforeAll(async () => {
  at = await startWithOperators();
});
beforeEach(async () => {
  env = `env-${count++}`;
  hosts = [await addHost(at.service, env), await addHost(at.service, env)];
  for (const host of hosts) await host.checkIn();
});
afterAll(() => at.stop());

/** A directory with the files of a bundle. */
async function shop(manifest: object = {}): Promise<string> {
  const dir = join(await mkdtemp(join(parent, 'work-')), 'shop');
  await mkdir(dir);
  const base = { schema: 1, name: 'shop', env, version: '1', sequence: 1, compose: ['compose.yaml'], secrets: [] };
  await writeFile(join(dir, 'manifest.json'), JSON.stringify({ ...base, ...manifest }));
  await writeFile(join(dir, 'compose.yaml'), 'services: {web: {image: "app:1"}}\n');
  return dir;
}

/** Runs a tick of each host whenever the command sleeps: it applies what is desired of it. */
async function tick(working = hosts): Promise<void> {
  await advanceRollouts(at.service.deps, new AbortController().signal);
  for (const host of working) {
    const { body } = await host.checkIn();
    await host.checkIn({ applied_sha: body['desired_sha'] as string });
  }
  await advanceRollouts(at.service.deps, new AbortController().signal);
}

const deploy = (args: string[], onSleep: () => unknown = () => tick(), more: object = {}) =>
  at.deployer.run(['deploy', ...args], { clock: sleeplessClock(onSleep), ...more });

it('packs, pushes, promotes and waits, and makes no second bundle of the same files', async () => {
  const dir = await shop();
  const first = await deploy([dir, '--version', '2.0']);
  expect(first).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(
      /^bundle {2}shop 2\.0, sequence 1, .*\nsha256 .*\nhosts {3}2 of 2 hosts run /,
    ) as string,
  });
  expect(first.stderr).toMatch(/^packed and pushed shop 2\.0, sequence 1: .*\npromoted it in .*\n0 of 2 hosts run /);
  const again = await deploy([dir, env, '--version', '2.0']);
  expect(again).toMatchObject({
    exit: 0,
    stderr: expect.stringMatching(/^the service has shop 2\.0, sequence 1: /) as string,
  });
  expect((await at.viewer.json(`bundle list --env ${env}`))['bundles']).toHaveLength(1);
});

it.each(['an archive', 'a digest'])('deploys %s', async (what) => {
  const [dir, out] = [await shop({ sequence: 7 }), join(parent, `${env}.tar.gz`)];
  const { sha256 } = await at.deployer.json(['bundle', 'pack', dir, '--out', out]);
  if (what === 'a digest') await at.deployer.run(['push', out]);
  const outcome = await deploy([what === 'a digest' ? String(sha256).slice(0, 12) : out, '--json']);
  expect(outcome.exit).toBe(0);
  expect(JSON.parse(outcome.stdout)).toMatchObject({ bundle: { sha256, env }, rollout: null, backends: [{}, {}] });
});

it('imports a compose project that leaves nothing to decide, and stops at one that does', async () => {
  const dir = join(await mkdtemp(join(parent, 'project-')), 'shop');
  await mkdir(dir);
  const PATH = tempDir();
  const reads = (service: object) =>
    writeFile(join(PATH, 'model'), JSON.stringify({ name: 'shop', services: { web: service } }));
  const probe = `*'-f -'*) echo '{"services":{"probe":{}}}' ;;`;
  const standIn = `#!/bin/sh\ncase "$*" in *version*) echo 2.40.3 ;; ${probe} *) read -r line < ${PATH}/model; echo "$line" ;; esac\n`;
  await writeFile(join(PATH, 'docker-compose'), standIn, { mode: 0o755 });
  await writeFile(join(dir, 'compose.yaml'), 'services: {}\n');
  await reads({ image: 'app:1' });
  const surroundings = { env: { ...at.deployer.home.env, PATH } };
  await at.admin.run('env create env-other');
  expect(await deploy([dir], undefined, surroundings)).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('ENV_REQUIRED') as string,
  });
  expect(await deploy([dir, env], undefined, surroundings)).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('2 of 2 hosts run') as string,
  });
  await reads({ build: '.' });
  expect(await deploy([dir, env], undefined, surroundings)).toMatchObject({
    exit: 1,
    stderr: expect.stringMatching(
      /IMPORT_UNFINISHED: .*\n(.*\n)*.*left to decide\n(.*\n)* {2}→ `deployctl bundle import /,
    ) as string,
  });
});

/** Runs a tick of each host, in which it fails. */
async function fail(failing = hosts): Promise<void> {
  await tick(hosts.filter((host) => !failing.includes(host)));
  for (const host of failing) {
    const { body } = await host.checkIn();
    await host.report('failed', {
      desired_sha: body['desired_sha'] as string,
      reason: 'retry:2',
      code: 'UP_FAILED',
      detail: 'rc=1',
      output_tail: '\u001b[1;31mweb:\u001b[0m no such table\n',
    });
  }
  await advanceRollouts(at.service.deps, new AbortController().signal);
}

it('shows reason and output of every host that fails, and the way back', async () => {
  const { exit, stderr } = await deploy([await shop()], () => fail());
  expect(exit).toBe(1);
  expect(stderr.match(/^ {2}.*: failed: UP_FAILED: rc=1\n {4}web: no such table$/gm)).toHaveLength(2);
  expect(stderr).toMatch(new RegExp(`\n {2}→ \`deployctl rollback ${env}\` returns to the previous bundle\n$`));
});

it.each<[string, string[]]>([
  ['at once', []],
  ['in a wave', ['--wave', '2', '--soak', '0', '--max-failures', '1']],
])(
  'shows the earlier failure of a bundle that is deployed again %s, with the next try, and waits',
  async (_how, waves) => {
    const dir = await shop();
    expect(await deploy([dir, ...waves], () => fail(hosts.slice(1)))).toMatchObject({ exit: 1 });
    const line = / failed with this bundle before: UP_FAILED: rc=1; it tries again at 20\S+Z \(in [34]m\)\n/g;
    const late = await deploy([dir, ...waves, '--timeout', '10'], () => undefined);
    expect([late.exit, late.stderr.match(line)?.length]).toEqual([1, 1]);
    expect(late.stderr).toContain('TIMEOUT: still waiting for 1 host\n');
    expect(await deploy([dir, ...waves])).toMatchObject({ exit: 0 });
  },
);

it.each(['a directory', 'a digest'])('promotes nothing of %s while secrets of the bundle are missing', async (what) => {
  const secretOf = (name: string, key: string, more: object = {}) => ({
    ...{ var: name, path: `deployd/data/${env}/see/${key}`, field: 'value', ...more },
  });
  const set = (key: string) => at.deployer.run(['secret', 'set', env, key], { stdin: 'x' });
  const lacking = [secretOf('DB', 'db', { field: 'password' }), secretOf('B', 'old', { version: 2 })];
  const dir = await shop({ secrets: [secretOf('A', 'there'), ...lacking] });
  for (const key of ['there', 'old']) expect(await set(key)).toMatchObject({ exit: 0 });
  const out = join(parent, `${env}.tar.gz`);
  const { sha256 } = await at.deployer.json(['bundle', 'pack', dir, '--out', out]);
  if (what === 'a digest') await at.deployer.run(['push', out]);
  const place = what === 'a digest' ? String(sha256) : dir;
  const { exit, stderr } = await deploy([place]);
  expect(exit).toBe(1);
  expect(stderr).toMatch(
    new RegExp(
      `SECRETS_MISSING: .* db, old in version 2 \\(the newest is 1\\); nothing was promoted\n {2}→ \`deployctl secret set ${env} db --field password\`\n {2}→ .* old --field value\`\n {2}→ then \`deployctl deploy [0-9a-f]{12} ${env}\`\n$`,
    ),
  );
  expect((await at.viewer.json(`env show ${env}`))['desired_sha']).toBeNull();
  for (const key of ['db', 'old']) await set(key);
  expect(await deploy([place])).toMatchObject({ exit: 0 });
});

it.each<[string, string[], number, RegExp]>([
  ['for another environment', ['us-1'], 2, /BUNDLE_ENV/],
  ['that hosts do not apply in time', ['--timeout', '10'], 1, /TIMEOUT: still waiting for 2 hosts\n/],
  ['that is not desired any more', ['--if-desired', 'f'.repeat(64)], 3, /DESIRED_DIFFERS/],
  ['at once and in waves', ['--wave', '1', '--override-rollout'], 2, /ROLLOUT_INVALID/],
])('ends with an exit code of its own for a bundle %s', async (_what, args, exit, text) => {
  expect(await deploy([await shop(), ...args], () => undefined)).toMatchObject({
    exit,
    stdout: '',
    stderr: expect.stringMatching(text) as string,
  });
});

it('rolls out in waves, and joins the rollout if it is run again', async () => {
  const dir = await shop();
  const waves = ['--wave', '1', '--soak', '0', '--max-failures', '1'];
  expect(await deploy([dir, ...waves, '--timeout', '10'], () => undefined)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('TIMEOUT') as string,
  });
  const { exit, stdout, stderr } = await deploy([dir, ...waves, '--json']);
  expect([exit, stderr]).toEqual([
    0,
    expect.stringMatching(/\n1 of 2 hosts run \w{12}; the rollout is updating, wave 2 of 2\n/),
  ]);
  const rollouts = (await at.viewer.json(`rollout list ${env}`))['rollouts'] as { id: string; state: string }[];
  expect(rollouts).toMatchObject([{ state: 'done', max_failures: 1 }]);
  expect(JSON.parse(stdout)).toMatchObject({ rollout: rollouts[0]!.id });
});

it('signs where signatures are required, or stops with the commands that finish it', async () => {
  const { privateKey, publicPem } = newSigningKey();
  const key = join(parent, `${env}.pem`);
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const trust = join(parent, `${env}.yaml`);
  await writeFile(`${trust}.pub`, publicPem);
  await writeFile(trust, `trust: {bundles: {keys: [${trust}.pub]}}\n`);
  expect(await at.admin.run(['env', 'trust', env, trust])).toMatchObject({ exit: 0 });
  const dir = await shop();
  const stopped = await deploy([dir]);
  expect(stopped.exit).toBe(1);
  expect(stopped.stderr).toMatch(
    new RegExp(
      `SIGNATURE_AWAITED: .*\n {2}→ deployctl bundle fetch .*\n {2}→ deployctl bundle sign .*\n {2}→ deployctl signature add .*\n {2}→ deployctl deploy [0-9a-f]{12} ${env}\n$`,
    ),
  );
  expect(await deploy([dir, '--sign-key', key])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('CONFIRMATION_MISSING') as string,
  });
  const signed = await deploy([dir, '--sign-key', key, '--yes']);
  expect(signed).toMatchObject({
    exit: 0,
    stderr: expect.stringMatching(/^the service has .*\nsigned by key SHA256:/) as string,
  });
  const command = ['--sign-command', `openssl dgst -sha256 -sign ${key}`, '--public-key', `${trust}.pub`, '--yes'];
  await writeFile(join(dir, 'more.txt'), 'more');
  expect(await deploy([dir, ...command])).toMatchObject({
    exit: 0,
    stderr: expect.stringContaining('signed by') as string,
  });
});

it('lists laptops that are asleep, and does not wait for them', async () => {
  const laptop = await addHost(at.service, env, true);
  await laptop.checkIn();
  await at.service.deps.store.updateTable('backends').set({ last_seen_at: 0 }).where('id', '=', laptop.id).execute();
  expect(await deploy([await shop()])).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/2 of 2 hosts run .*; not awaited: host-1/) as string,
  });
});
