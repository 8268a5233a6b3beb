import { deployctl, sleeplessClock } from '../../../fixtures/world/ctl/deployctl.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const desired = 'a'.repeat(64);
const report = (report_id: string, outcome: string) => ({
  report_id,
  outcome,
  received_at: '2026-11-30T12:00:01.000Z',
  desired_sha: desired,
  code: 'COMPOSE_REFUSED',
  detail: 'service web: build',
});

let api: Awaited<ReturnType<typeof startScriptedApi>>;
/** The data of the service; a test changes it while the command sleeps. */
let env: { name: string; desired_sha: string | null };
let backend: Record<string, unknown>;
let others: Record<string, unknown>[];
let rollout: object;
beforeEach(async () => {
  env = { name: 'eu-1', desired_sha: desired };
  backend = { id, site: 'berlin', state: 'active', healthy: true, applied_sha: null, desired_sha: desired };
  Object.assign(backend, { host_name: 'web-3', last_report: null, desired_since: '2026-11-30T12:00:00.000Z' });
  others = [];
  rollout = {};
  api = await startScriptedApi(({ path }) => ({ status: 200, body: bodyOf(path) }));
});
afterEach(() => api.stop());

function bodyOf(path: string): object {
  if (path === '/v1/envs/eu-1') return env;
  if (path === '/v1/envs/eu-1/rollout') return rollout;
  if (path === '/v1/backends') return { backends: [backend, ...others], next: null };
  return others.find(({ id: other }) => path.endsWith(String(other))) ?? backend;
}

const wait = (target: string, onSleep: () => unknown, ...more: string[]) =>
  deployctl(['wait', target, ...more], { env: api.home.env, clock: sleeplessClock(onSleep) });

it.each(['eu-1', id])('ends with 0 when %s has applied the desired bundle', async (target) => {
  const outcome = await wait(target, () => (backend['applied_sha'] = desired));
  expect(outcome).toEqual({
    exit: 0,
    stderr: '0 of 1 host runs aaaaaaaaaaaa\n',
    stdout: '1 of 1 host runs aaaaaaaaaaaa\n',
  });
});

it('asks for the active and the offline hosts of the env', async () => {
  backend['applied_sha'] = desired;
  await wait('eu-1', () => undefined);
  expect(api.server.requests.at(-1)!.query).toBe('?env=eu-1&state=active%2Coffline&limit=500');
});

it('ends with 1 after the timeout, and names who is late', async () => {
  Object.assign(backend, {
    trouble: 'failed',
    last_report: { ...report('r1', 'failed'), desired_sha: 'b'.repeat(64) },
  });
  const { exit, stderr } = await wait('eu-1', () => undefined, '--timeout', '12');
  expect(exit).toBe(1);
  expect(stderr.split('\n').slice(0, -1)).toEqual([
    '0 of 1 host runs aaaaaaaaaaaa',
    'deployctl: TIMEOUT: still waiting for 1 host',
    '  web-3 (0f8fad5b, site berlin), failed',
    '  → `deployctl reports HOST`',
  ]);
  expect(api.server.requests.filter(({ path }) => path === '/v1/backends')).toHaveLength(4);
});

it.each(['refused', 'failed', 'unhealthy'])(
  'ends when a host has %s, with the reason and its output',
  async (outcome) => {
    const output_tail = 'a\n'.repeat(20) + 'port 80 is in use\n';
    const { exit, stderr } = await wait(
      'eu-1',
      () => (backend['last_report'] = { ...report('r2', outcome), output_tail }),
    );
    expect(exit).toBe(1);
    const code = outcome.toUpperCase();
    expect(stderr).toContain(`${code}: web-3 (0f8fad5b, site berlin): COMPOSE_REFUSED: service web: build\n  a\n`);
    expect(stderr).toMatch(/ {2}port 80 is in use\n {2}→ `deployctl reports web-3`\n$/);
    expect(stderr.match(/^ {2}a$/gm)).toHaveLength(9);
  },
);

it('names all hosts that fail, each with its reason and the last lines of its output', async () => {
  const failed = { ...report('r', 'failed'), output_tail: 'one\ntwo\n' };
  others = ['00000001', '00000002'].map((id) => ({ ...backend, id, last_report: failed, trouble: 'failed' }));
  Object.assign(others[1]!, { host_name: 'web-3;id' });
  backend['applied_sha'] = desired;
  const { exit, stderr } = await wait('eu-1', () => expect('waited').toBe('never'));
  expect(exit).toBe(1);
  expect(stderr.split('\n').slice(1, -1)).toEqual([
    'deployctl: FAILED: 2 hosts fail',
    ...['web-3 (00000001', 'web-3;id (00000002'].flatMap((name) => [
      `  ${name}, site berlin): failed: COMPOSE_REFUSED: service web: build`,
      '    one',
      '    two',
    ]),
    '  → `deployctl reports web-3`',
    '  → `deployctl reports 00000002`',
  ]);
});

it.each<[string, object, RegExp]>([
  [
    'HOST_HELD',
    { deferred_by: 'hold', hold: { until: '2100-01-01', reason: 'disk' } },
    /a hold until 2100-01-01: disk/,
  ],
  ['WINDOW_CLOSED', { deferred_by: 'window', window_opens_at: '2100-01-01T00:00:00Z' }, /opens 2100-01-01T00:00:00Z/],
  ['HOST_LOCKED', { locked_at: '2026-01-01T00:00:00Z' }, /it gets no orders/],
  ['BACKEND_CLONED', { cloned_at: '2026-01-01T00:00:00Z' }, /both are refused/],
])('ends at once with %s, unless the host runs the bundle already', async (code, facts, reason) => {
  Object.assign(backend, facts);
  for (const target of ['eu-1', id]) {
    const outcome = await wait(target, () => expect(target).toBe('never'));
    expect(outcome).toMatchObject({ exit: 1, stderr: expect.stringMatching(reason) as string });
    expect(outcome.stderr).toContain(`deployctl: ${code}: web-3 (0f8fad5b, site berlin) `);
  }
  backend['applied_sha'] = desired;
  expect(await wait('eu-1', () => undefined)).toMatchObject({ exit: 0 });
});

it('waits for an emergency bundle although the windows of the host are closed', async () => {
  Object.assign(backend, { deferred_by: 'window' });
  Object.assign(env, { desired: { emergency: true } });
  expect(await wait('eu-1', () => (backend['applied_sha'] = desired))).toMatchObject({ exit: 0 });
});

it.each<[string, object, string]>([
  ['offline', { state: 'offline' }, 'offline'],
  ['unhealthy', { healthy: false }, 'unhealthy'],
  ['silent', { healthy: null }, 'health unknown'],
])('does not succeed while a host with the bundle is %s', async (_what, facts, word) => {
  Object.assign(backend, { applied_sha: desired, ...facts });
  const outcome = await wait('eu-1', () => undefined, '--timeout', '9');
  expect(outcome).toMatchObject({ exit: 1, stderr: expect.stringContaining(`site berlin), ${word}\n`) as string });
});

it('lists laptops that are asleep, and servers that are offline if that is allowed, and does not wait for them', async () => {
  backend['applied_sha'] = desired;
  const absent = {
    ...backend,
    host_name: 'lap-1',
    laptop: true,
    applied_sha: null,
    last_seen_at: '2020-01-01T00:00:00Z',
  };
  others = [absent, { ...absent, host_name: 'web-4', laptop: false, state: 'offline' }];
  const outcome = await wait('eu-1', () => undefined, '--allow-offline');
  expect(outcome).toMatchObject({ exit: 0, stdout: '1 of 1 host runs aaaaaaaaaaaa; not awaited: lap-1, web-4\n' });
  expect(await wait('eu-1', () => undefined, '--timeout', '9')).toMatchObject({ exit: 1 });
});

it('does not succeed while a rollout soaks, and ends when it is halted', async () => {
  backend['applied_sha'] = desired;
  const plan = { started: 0, waves: [], failed_hosts: [] };
  rollout = { state: 'soaking', ...plan };
  expect(await wait('eu-1', () => (rollout = { state: 'done' }))).toMatchObject({
    ...{ exit: 0, stdout: '1 of 1 host runs aaaaaaaaaaaa\n' },
    stderr: '1 of 1 host runs aaaaaaaaaaaa; the rollout is soaking\n',
  });
  rollout = { state: 'halted', halted_by: 'failures', ...plan };
  const halted = 'ROLLOUT_HALTED: the rollout of eu-1 is halted by failures';
  expect(await wait('eu-1', () => undefined)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining(halted) as string,
  });
});

it.each([
  ['eu-1', 'aaaaaaaa', 0, ''],
  [id, desired, 0, ''],
  ['eu-1', 'b'.repeat(64), 3, 'deployctl: DESIRED_DIFFERS: aaaaaaaaaaaa is desired of eu-1 now'],
  ['eu-1', '', 2, 'It must be 8 to 64 hex digits.'],
])('of %s waits for the bundle %j only: exit %i', async (target, bundle, exit, text) => {
  backend['applied_sha'] = desired;
  const outcome = await wait(target, () => undefined, '--bundle', bundle);
  expect(outcome).toMatchObject({ exit, stderr: expect.stringContaining(text) as string });
});

it.each<[string, string, string]>([
  ['refused', 'sha_changed', 'at its next check-in'],
  ['unhealthy', 'drift:web', 'at its next check-in'],
  ['failed', 'sha_changed', 'at its next check-in'],
  ['failed', 'leader:node-1', 'within 30 minutes'],
])(
  'counts what was %s (%s) after the promotion, also before the wait, but not before',
  async (outcome, reason, next) => {
    Object.assign(backend, { last_report: { ...report('r1', outcome), reason }, trouble: outcome });
    expect(await wait('eu-1', () => undefined)).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining(`${outcome.toUpperCase()}: `) as string,
    });
    backend['desired_since'] = '2026-11-30T12:00:02.000Z';
    expect(await wait('eu-1', () => (backend['applied_sha'] = desired))).toMatchObject({
      exit: 0,
      stderr: expect.stringContaining(
        `before: COMPOSE_REFUSED: service web: build; it tries again ${next}\n`,
      ) as string,
    });
  },
);

describe('rollout wait', () => {
  const follow = (onSleep: () => unknown, ...more: string[]) =>
    deployctl(['rollout', 'wait', 'eu-1', ...more], { env: api.home.env, clock: sleeplessClock(onSleep) });
  const of = (state: string, facts: object = {}) => ({
    ...{ id: 'r1', env: 'eu-1', sha256: desired, state, started: 1, waves: [{}, {}], failed_hosts: [] },
    ...facts,
  });

  it('waits until the rollout is done, and lets it decide how many hosts may fail', async () => {
    Object.assign(backend, { last_report: report('r1', 'failed'), trouble: 'failed' });
    rollout = of('updating');
    const done = () => {
      rollout = of('done');
      Object.assign(backend, { applied_sha: desired, trouble: null });
    };
    expect(await follow(done)).toEqual({
      exit: 0,
      stderr: '0 of 1 host runs aaaaaaaaaaaa; the rollout is updating, wave 1 of 2\n',
      stdout: '1 of 1 host runs aaaaaaaaaaaa\n',
    });
  });

  it.each<[string, () => unknown, number, RegExp]>([
    [
      'is halted, with the reason of each failed host',
      () => {
        Object.assign(backend, { last_report: { ...report('r1', 'failed'), output_tail: 'boom\n' } });
        rollout = of('halted', { halted_by: 'failures', failed_hosts: [{ id, site: 'berlin' }] });
      },
      1,
      /ROLLOUT_HALTED: .* by failures\n {2}web-3 .*: COMPOSE_REFUSED: service web: build\n {2}boom\n/,
    ],
    ['is aborted', () => (rollout = of('aborted')), 1, /ROLLOUT_ABORTED/],
    ['is followed by another one', () => (rollout = of('updating', { id: 'r2' })), 3, /DESIRED_DIFFERS/],
    [
      'has left a host that fails',
      () => {
        Object.assign(backend, { last_report: report('r1', 'failed'), trouble: 'failed' });
        rollout = of('done');
      },
      1,
      /FAILED: web-3/,
    ],
    ['waits for a host that is held', () => (backend['deferred_by'] = 'hold'), 1, /HOST_HELD/],
    ['does not end in time', () => undefined, 1, /TIMEOUT/],
  ])('ends when the rollout %s', async (_what, happens, exit, text) => {
    rollout = of('updating');
    const outcome = await follow(happens, '--timeout', '12');
    expect(outcome).toMatchObject({ exit, stdout: '', stderr: expect.stringMatching(text) as string });
  });

  it('does not wait for the bundle of the environment while another one is rolled out to it', async () => {
    env.desired_sha = null;
    rollout = of('soaking');
    backend['applied_sha'] = desired;
    const done = () => {
      rollout = of('done');
      env.desired_sha = desired;
    };
    expect(await wait('eu-1', done, '--bundle', desired)).toMatchObject({ exit: 0 });
  });
});

it('outlives a service that is away, until the timeout', async () => {
  api.server.answerNext('call', { status: 503 }, 4);
  const outcome = await wait('eu-1', () => (backend['applied_sha'] = desired));
  expect(outcome).toMatchObject({ exit: 0 });
  api.server.answerAlways('call', { status: 503 });
  expect(await wait('eu-1', () => undefined)).toMatchObject({ exit: 75 });
});

it('ends with 1 where there is nothing to wait for', async () => {
  env.desired_sha = null;
  expect(await wait('eu-1', () => undefined)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('NOTHING_DESIRED') as string,
  });
  backend['desired_sha'] = null;
  expect(await wait(id, () => undefined)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('NOTHING_DESIRED') as string,
  });
  backend['state'] = 'retired';
  expect(await wait(id, () => undefined)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('BACKEND_RETIRED') as string,
  });
});

it('fails for an environment without an active host, unless that is allowed', async () => {
  const none = await startScriptedApi(({ path }) => ({
    status: 200,
    body: path === '/v1/backends' ? { backends: [], next: null } : env,
  }));
  expect(await deployctl(['wait', 'eu-1'], { env: none.home.env })).toMatchObject({
    exit: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^deployctl: NO_ACTIVE_HOST: eu-1 has no active host, so nothing runs aaaaaaaaaaaa\n.*--allow-empty/,
    ) as string,
  });
  const outcome = await deployctl(['wait', 'eu-1', '--json', '--allow-empty'], { env: none.home.env });
  expect(outcome).toMatchObject({ exit: 0, stderr: '' });
  expect(JSON.parse(outcome.stdout)).toEqual({ backends: [], next: null });
  await none.stop();
});

it.each(['0', '-1', '1.5', 'soon'])('a timeout of %s is wrong usage', async (seconds) => {
  expect(await wait('eu-1', () => undefined, `--timeout=${seconds}`)).toMatchObject({ exit: 2 });
});
