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
beforeEach(async () => {
  env = { name: 'eu-1', desired_sha: desired };
  backend = { id, site: 'berlin', state: 'active', applied_sha: null, desired_sha: desired, last_report: null };
  api = await startScriptedApi(({ path }) => ({ status: 200, body: bodyOf(path) }));
});
afterEach(() => api.stop());

function bodyOf(path: string): object {
  if (path === '/v1/envs/eu-1') return env;
  return path === '/v1/backends' ? { backends: [backend], next: null } : backend;
}

const wait = (target: string, onSleep: () => unknown, ...more: string[]) =>
  deployctl(['wait', target, ...more], { env: api.home.env, clock: sleeplessClock(onSleep) });

it.each(['eu-1', id])('ends with 0 when %s has applied the desired bundle', async (target) => {
  const outcome = await wait(target, () => (backend['applied_sha'] = desired));
  expect(outcome).toEqual({
    exit: 0,
    stderr: '0 of 1 backends have applied aaaaaaaaaaaa\n',
    stdout: '1 of 1 backends have applied aaaaaaaaaaaa\n',
  });
});

it('asks for the active backends of the env', async () => {
  backend['applied_sha'] = desired;
  await wait('eu-1', () => undefined);
  expect(api.server.requests.at(-1)!.query).toBe('?env=eu-1&state=active&limit=500');
});

it('ends with 1 after the timeout, and names who is late', async () => {
  backend['last_report'] = report('r1', 'failed');
  const { exit, stderr } = await wait('eu-1', () => undefined, '--timeout', '12');
  expect(exit).toBe(1);
  expect(stderr.split('\n').slice(0, -1)).toEqual([
    '0 of 1 backends have applied aaaaaaaaaaaa',
    `deployctl: TIMEOUT: still waiting for ${id} (berlin, last failed)`,
    '  → `deployctl reports ID`',
  ]);
  expect(api.server.requests.filter(({ path }) => path === '/v1/backends')).toHaveLength(4);
});

it('does not wait on when a host refuses the bundle', async () => {
  const { exit, stderr } = await wait('eu-1', () => (backend['last_report'] = report('r2', 'refused')));
  expect(exit).toBe(1);
  expect(stderr).toContain(`REFUSED: ${id} (berlin): service web: build`);
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
