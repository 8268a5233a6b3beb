import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { createRolloutScene, type RolloutScene } from '../../../fixtures/suites/tenancy/api/rolloutScene.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { startReceiver } from '../../../fixtures/world/tenancy/receiver.ts';
import { askGates } from '../../tenancy/rollouts/advance.ts';

let at: ServiceWithOperators;
let scene: RolloutScene;
beforeAll(async () => {
  at = await startWithOperators();
});
beforeEach(async () => void (scene = await createRolloutScene(at.service, 3)));
afterAll(() => at.stop());

const start = async (...more: string[]) => {
  const result = await at.deployer.run(['rollout', 'start', scene.env, scene.bundle.slice(0, 12), ...more]);
  if (result.exit === 0) await scene.sortHosts();
  return result;
};

it('starts a rollout as its options say, and shows its waves', async () => {
  const { env, bundle, before, hosts, advance } = scene;
  const waves = ['--wave', '1', '--wave', '30%', '--deadline', '900'];
  const window = ['--window', 'mon-sun 00:00+1440 UTC'];
  const { exit, stdout } = await start(...waves, ...window, '--max-failures', '2', '--soak', '0', '--gate');
  expect(exit).toBe(0);
  expect(stdout).toMatch(new RegExp(`^bundle {8}${bundle}\nbefore {8}${before}\nstate {9}pending since .*Z`, 'm'));
  expect(stdout).toMatch(/^limit {9}halts when more than 2 hosts have failed$/m);
  expect(stdout).toMatch(/^after a wave {2}0 s of soak, then the gate: `deployctl rollout pass`$/m);
  expect(stdout).toMatch(/^window {8}mon, tue, wed, thu, fri, sat, sun from 00:00 for 1440 minutes, UTC$/m);
  await advance();
  await scene.fail(hosts[0]!);
  await advance();
  const shown = await at.viewer.run(`rollout show ${env}`);
  expect(shown.stdout).toMatch(/^deadline {6}halts when a wave is not verified after 900 s$/m);
  expect(shown.stdout.split('\n').slice(-5)).toEqual([
    'WAVE  TAKES  HOSTS  WAITING  SUCCEEDED  FAILED  EXCUSED  OFFLINE  ABSENT  ASLEEP',
    '1     1      1      0        0          1       0        0        0       0',
    '2     30%    1      -        -          -       -        -        -       -',
    '3     all    1      -        -          -       -        -        -       -',
    '',
  ]);
  const listed = await at.viewer.run(`rollout hosts ${env}`);
  expect(listed.stdout).toMatch(
    new RegExp(`^WAVE +HOST +SITE +ID +STATUS .*\n1 +host-1 +fra +${hosts[0]!.id} +failed .*\n2 .* planned .*\n3 `),
  );
  expect(await at.viewer.json(`rollout show ${env}`)).toMatchObject({
    env,
    sha256: bundle,
    gate: 'manual',
    started: 1,
  });
});

it('asks the gate of a webhook, and shows what it has answered', async () => {
  const { admin, env, bundle, hosts, advance } = scene;
  const receiver = await startReceiver();
  receiver.replies.push((response) => response.end('{"pass":false,"reason":"3 of 40 probes failed"}'));
  const args = `webhook add probe --env ${env} --no-event --show`;
  const added = await at.admin.run(args, { stdin: receiver.url });
  expect(added.exit).toBe(0);
  const { body } = await admin.call(`GET webhooks?env=${env}`);
  const [webhook] = body['webhooks'] as { id: string; events: string[] }[];
  expect(webhook!.events).toEqual([]);
  expect((await start('--gate', '--gate-webhook', webhook!.id)).exit).toBe(2);
  const { stdout } = await start('--wave', '1', '--soak', '0', '--gate-webhook', webhook!.id);
  expect(stdout).toContain(`0 s of soak, then the gate: the webhook ${webhook!.id}, or \`deployctl rollout pass\`\n`);
  await advance();
  await hosts[0]!.checkIn({ applied_sha: bundle });
  await advance();
  await askGates(at.service.deps, new AbortController().signal);
  const shown = await at.viewer.run(`rollout show ${env}`);
  expect(shown.stdout).toMatch(/^state {9}halted by gate since .*\n(?:.*\n)*gate {10}3 of 40 probes failed$/m);
  await receiver.stop();
});

it('halts, resumes, passes and aborts a rollout, and lists it', async () => {
  const { env, bundle, hosts, advance } = scene;
  await start('--wave', '1', '--soak', '0', '--gate');
  await advance();
  expect(await at.deployer.json(`rollout halt ${env}`)).toMatchObject({ state: 'halted', halted_by: 'operator' });
  expect((await at.viewer.run(`rollout show ${env}`)).stdout).toMatch(/^state {9}halted by operator since /m);
  expect(await at.deployer.json(`rollout resume ${env}`)).toMatchObject({ state: 'updating' });
  expect((await at.deployer.run(`rollout pass ${env}`)).stderr).toMatch(/^deployctl: ROLLOUT_STATE: .*\n {2}→ /);
  await hosts[0]!.checkIn({ applied_sha: bundle });
  await advance();
  expect(await at.deployer.json(`rollout pass ${env}`)).toMatchObject({ state: 'pending', started: 1 });
  const promoted = await at.deployer.run(`promote ${env} ${bundle}`);
  expect([promoted.exit, promoted.stderr]).toEqual([
    1,
    expect.stringMatching(/^deployctl: ROLLOUT_ACTIVE: .*\n {2}→ /),
  ]);
  expect(await at.deployer.json(`rollout abort ${env}`)).toMatchObject({ state: 'aborted' });
  const { stdout } = await at.viewer.run(`rollout list ${env}`);
  expect(stdout).toMatch(
    new RegExp(`^BUNDLE +STATE +SINCE +WAVES +BY\n${bundle.slice(0, 12)} +aborted +\\d+s +1 of 2 `),
  );
});

it('skips a host, and changes limits and later waves', async () => {
  const { env, hosts, advance } = scene;
  await start('--wave', '2', '--soak', '0');
  await advance();
  const skipped = await at.deployer.run(`rollout skip ${env} ${hosts[0]!.id.slice(0, 8)}`);
  expect(skipped.stdout).toMatch(/^1 +2 +2 +1 +0 +0 +1 /m);
  expect(await at.deployer.run(`rollout skip ${env} ${hosts[1]!.id}`)).toMatchObject({
    ...{ exit: 1, stderr: expect.stringContaining('ROLLOUT_STATE: wave 1 would have no host') as string },
  });
  const options = '--max-failures 2 --soak 9 --deadline 900 --wave 1';
  const changed = { max_failures: 2, soak_s: 9, deadline_s: 900, waves: [{ count: 2 }, { count: 1, hosts: 1 }] };
  expect(await at.deployer.json(`rollout edit ${env} ${options}`)).toMatchObject(changed);
  expect(await at.deployer.run(`rollout edit ${env}`)).toMatchObject({ exit: 2 });
});

it('ends a rollout for an urgent bundle or secret only with --override-rollout', async () => {
  const { env, push } = scene;
  const urgent = await push({ sequence: 30 });
  await start('--wave', '1');
  expect((await at.deployer.run(`promote ${env} ${urgent}`)).stderr).toContain(
    'if it is urgent, promote, rollback and secret set take --override-rollout',
  );
  expect(await at.deployer.json(`promote ${env} ${urgent} --override-rollout`)).toMatchObject({ desired_sha: urgent });
  await scene.start({ sha256: await push({ sequence: 40 }) });
  const set = (more: string) => at.deployer.run(`secret set ${env} db${more}`, { stdin: 'geheim' });
  expect([(await set('')).exit, (await set(' --override-rollout')).exit]).toEqual([1, 0]);
  expect(await at.viewer.json(`rollout show ${env}`)).toMatchObject({ state: 'aborted' });
});

it('rolls back to the previous bundle, at once or in waves, where a promotion would be refused', async () => {
  const { env, before, bundle, hosts } = scene;
  await at.deployer.run(`promote ${env} ${bundle}`);
  await hosts[0]!.checkIn({ applied_sha: bundle });
  const promoted = await at.deployer.run(`promote ${env} ${before}`);
  expect(promoted.stderr).toMatch(/^deployctl: ROLLBACK_NEEDED: .*\n {2}→ `deployctl rollback ENV SHA` gives/);
  const { exit, stdout } = await at.deployer.run(`rollback ${env}`);
  expect([exit, stdout]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^content {2}shop old, from ${before}, now with sequence 21\nstate {4}is desired$`, 'm'),
    ),
  ]);
  const waves = `--wave 1 --max-failures 1 --with-secrets`;
  expect(await at.deployer.json(`rollback ${env} ${bundle.slice(0, 12)} ${waves}`)).toMatchObject({
    from: bundle,
    rollout: { max_failures: 1, waves: [{ count: 1 }, {}] },
  });
  const { rollout } = await at.deployer.json(`rollback ${env} ${bundle} --gate --override-rollout`);
  expect(rollout).toMatchObject({ gate: 'manual', max_failures: 0, soak_s: 300, waves: [{ hosts: 3 }] });
  const during = await at.deployer.run(`rollback ${env} ${before}`);
  expect(during.stderr).toMatch(
    /^deployctl: ROLLOUT_ACTIVE: .*\n {2}→ .* rollback and secret set take --override-rollout$/m,
  );
  const overriding = `rollback ${env} ${before} --override-rollout --if-desired ${bundle}`;
  expect((await at.deployer.run(overriding)).stderr).toMatch(/^deployctl: DESIRED_DIFFERS: /);
  expect(await at.deployer.json(`rollout show ${env}`)).toMatchObject({ state: 'pending' });
  const limits = { bundle_bytes: 1e9, unpacked_bytes: 1e9, bundle_entries: 1e5 };
  const policy = { limits, deny: ['rollback'] };
  for (const host of hosts.slice(0, 2))
    await host.checkIn({ applied_sha: bundle, ...(host === hosts[0] && { policy }) });
  const ended = await at.deployer.run(`rollback ${env} ${before} --override-rollout`);
  const id = hosts[0]!.id.slice(0, 8);
  expect([ended.exit, ended.stdout]).toEqual([
    0,
    expect.stringMatching(
      new RegExp(`^denied by +host-1 \\(${id}, site fra\\)\nremedy +these hosts keep their bundle; `, 'm'),
    ),
  ]);
  expect(await at.viewer.json(`rollout show ${env}`)).toMatchObject({ state: 'aborted' });
  const trust = { threshold: 1, keys: [newSigningKey().publicPem], identities: [], root: null };
  await scene.admin.call(`PUT envs/${env}/trust`, trust);
  const unsigned = await at.deployer.run(`rollback ${env} ${bundle}`);
  expect(unsigned.stdout).toMatch(/^state +awaits signatures\nmissing +1 of the signatures of key SHA256:.*\nnext /m);
});

it('names the hosts that have failed', async () => {
  const { env, hosts, advance } = scene;
  await start('--wave', '1');
  await advance();
  await scene.fail(hosts[0]!);
  await advance();
  const { stdout } = await at.viewer.run(`rollout show ${env}`);
  expect(stdout).toMatch(new RegExp(`^failed {8}host-1 \\(${hosts[0]!.id.slice(0, 8)}, site fra\\)$`, 'm'));
});

it('reports that nothing was found, and permits viewers only to look', async () => {
  expect((await at.viewer.run(`rollout show ${scene.env}`)).stderr).toMatch(/^deployctl: ROLLOUT_NOT_FOUND/);
  expect(await at.viewer.run(`rollout start ${scene.env} ${scene.bundle}`)).toMatchObject({ exit: 77 });
  expect(await start('--wave', 'some')).toMatchObject({ exit: 2, stdout: '' });
});
