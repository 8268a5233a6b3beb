import { deployctl, sleeplessClock } from '../../../fixtures/world/ctl/deployctl.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const desired = 'a'.repeat(64);
const report = (report_id: string, outcome: string) => ({
  report_id,
  outcome,
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
  Object.assign(backend, { host_name: 'web-3', last_report: null });
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
  Object.assign(backend, { last_report: report('r1', 'failed'), trouble: 'failed' });
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

it('takes an old refusal of the eleventh host that it waits for as old', async () => {
  others = Array.from({ length: 12 }, (_, index) => ({
    ...{ ...backend, id: `${index}`.padStart(8, '0'), last_report: report(`r${index}`, 'refused'), trouble: 'refused' },
  }));
  backend['applied_sha'] = desired;
  const done = () => others.splice(0, 3);
  expect(await wait('eu-1', done)).toMatchObject({ exit: 0 });
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
  rollout = { state: 'soaking' };
  expect(await wait('eu-1', () => (rollout = { state: 'done' }))).toMatchObject({
    ...{ exit: 0, stdout: '1 of 1 host runs aaaaaaaaaaaa\n' },
    stderr: '1 of 1 host runs aaaaaaaaaaaa; the rollout is soaking\n',
  });
  rollout = { state: 'halted', halted_by: 'failures' };
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

it('does not take a refusal of before for one of now', async () => {
  backend['last_report'] = report('r1', 'refused');
  const outcome = await wait('eu-1', () => (backend['applied_sha'] = desired));
  expect(outcome).toMatchObject({ exit: 0 });
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
