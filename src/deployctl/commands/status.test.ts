import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';

const desired = 'a'.repeat(64);
const since = '2026-11-30T12:00:00.000Z';

let api: Awaited<ReturnType<typeof startScriptedApi>>;
let env: Record<string, unknown>;
let hosts: Record<string, unknown>[];
let rollout: object | null;
beforeEach(async () => {
  const bundle = { sha256: desired, name: 'shop', version: '2', sequence: 2, signature: 'not required' };
  env = { name: 'eu-1', desired_sha: desired, desired_since: since, held_since: null, desired: bundle, newest: bundle };
  hosts = [host('web-1'), host('web-2')];
  rollout = null;
  api = await startScriptedApi(({ path, query }) => answerTo(path, query.get('env')));
});
afterEach(() => api.stop());

/** A host that runs the desired bundle; its id begins with its name. */
function host(host_name: string, facts: object = {}): Record<string, unknown> {
  return {
    ...{ id: host_name, host_name, env: 'eu-1', site: 'fra', state: 'active', laptop: false, trouble: null },
    ...{ healthy: true, applied_sha: desired, desired_sha: desired, desired_since: since, differs: null },
    ...{ leftover: null, locked_at: null, cloned_at: null, deferred_by: null, last_report: null },
    ...{ last_seen_at: new Date().toISOString(), applied_since: new Date(Date.now() - 3_600_000).toISOString() },
    ...facts,
  };
}

function answerTo(path: string, only: string | null): { status: number; body: object } {
  const ok = (body: object) => ({ status: 200, body });
  if (path === '/v1/envs') return ok({ envs: [{ ...env, name: 'at-1' }, env] });
  if (path === '/v1/fleet') return ok({ envs: [{ name: 'eu-1', rollout }] });
  if (path === '/v1/envs/eu-1') return ok(env);
  if (path === '/v1/backends') {
    const all = [...hosts, host('web-0', { env: 'at-1' })];
    return ok({ backends: all.filter((each) => only === null || each['env'] === only), next: null });
  }
  if (path !== '/v1/envs/eu-1/rollout') return ok(hosts.find(({ id }) => path.endsWith(`/${String(id)}`)) ?? {});
  return rollout === null ? { status: 404, body: { error: { code: 'ROLLOUT_NOT_FOUND', message: '' } } } : ok(rollout);
}

const status = (...args: string[]) => deployctl(['status', ...args], { env: api.home.env });

const failure = {
  ...{ outcome: 'failed', desired_sha: desired, received_at: '2026-11-30T12:00:01.000Z' },
  ...{ code: 'UP_FAILED', detail: 'rc=1', output_tail: null },
};

it('shows on one screen what runs, since when, what is wrong and what to do', async () => {
  hosts.push(
    host('web-3', { trouble: 'failed', applied_sha: 'b'.repeat(64), applied_since: null, last_report: failure }),
    host('web-4', { state: 'offline', healthy: null }),
    host('lap-1', { laptop: true, last_seen_at: '2020-01-01T00:00:00Z' }),
    host('0f8fad5b-d9cb', {
      host_name: '-x$(id)',
      trouble: 'refused',
      last_report: { ...failure, outcome: 'refused' },
    }),
  );
  const { exit, stdout } = await status('eu-1');
  expect(exit).toBe(1);
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'environment  eu-1',
    'status       failed',
    expect.stringMatching(/^desired {6}shop 2 \(aaaaaaaaaaaa\), since 2026-11-30T12:00:00\.000Z /),
    '',
    'RUNS                   HOSTS  SINCE  WHICH',
    'shop 2 (aaaaaaaaaaaa)  5      60m    web-1, web-2, web-4, lap-1, -x$(id)',
    'bbbbbbbbbbbb           1      -      web-3',
    '',
    'STATE    HOSTS  WHICH    WHY              NEXT',
    'failed   1      web-3    UP_FAILED: rc=1  deployctl reports web-3',
    'refused  1      -x$(id)  UP_FAILED: rc=1  deployctl reports 0f8fad5b',
    'offline  1      web-4    -                deployctl host show web-4',
    'asleep   1      lap-1    -                -',
    '',
  ]);
});

it('is ok only if nothing is wrong', async () => {
  expect(await status('eu-1')).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^status {7}ok$/m) as string });
  expect(await status()).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/^ENV .*\nat-1 {2}ok {6}1 of 1 .*\neu-1 {2}ok {6}2 of 2 .* -\n$/) as string,
  });
});

it.each<[string, object]>([
  ['a laptop is asleep', { laptop: true, last_seen_at: '2020-01-01T00:00:00Z' }],
  ['a host was never seen', { state: 'invited', last_seen_at: null, healthy: null, applied_sha: null }],
])('is waiting, not ok, while %s, which nobody has to cure', async (_what, facts) => {
  hosts.push(host('web-3', facts));
  const { exit, stdout } = await status('eu-1', '--json');
  expect([exit, JSON.parse(stdout)]).toMatchObject([0, { ok: false, status: 'waiting', fault: null }]);
  const all = await status();
  expect([all.exit, all.stdout]).toEqual([0, expect.stringMatching(/\neu-1 {2}waiting {2}\d of \d .* -\n$/)]);
});

it.each<[string, () => unknown, string]>([
  ['is held after a restore', () => (env['held_since'] = since), 'held'],
  ['is told to run nothing', () => Object.assign(env, { desired_sha: null, desired: null }), 'nothing desired'],
  [
    'has a rollout that is halted',
    () => (rollout = { id: 'r', sha256: desired, state: 'halted', started: 1, waves: [{}] }),
    'rollout halted',
  ],
  [
    'has a rollout that soaks',
    () => (rollout = { id: 'r', sha256: desired, state: 'soaking', started: 1, waves: [{}] }),
    'rollout soaking',
  ],
  ['has no host', () => hosts.splice(0), 'no active host'],
  ['has a host that is offline', () => (hosts[0] = host('web-1', { state: 'offline' })), 'offline'],
  ['has a host of unknown health', () => (hosts[0] = host('web-1', { healthy: null })), 'health unknown'],
  ['has a host that is unhealthy', () => (hosts[0] = host('web-1', { healthy: false })), 'unhealthy'],
  ['has a host that refused its bundle', () => (hosts[0] = host('web-1', { trouble: 'refused' })), 'refused'],
  [
    'has a laptop that failed before it fell asleep',
    () => (hosts[0] = host('lap-1', { laptop: true, trouble: 'failed', last_seen_at: '2020-01-01T00:00:00Z' })),
    'failed',
  ],
  ['has a host that is locked', () => (hosts[0] = host('web-1', { locked_at: since })), 'locked'],
  ['has a cloned host', () => (hosts[0] = host('web-1', { cloned_at: since })), 'cloned'],
  ['has a host on hold', () => (hosts[0] = host('web-1', { applied_sha: null, deferred_by: 'hold' })), 'held'],
  [
    'has a host outside its window',
    () => (hosts[0] = host('web-1', { applied_sha: null, deferred_by: 'window' })),
    'waits for window',
  ],
  ['has a host with another bundle', () => (hosts[0] = host('web-1', { applied_sha: null })), 'not applied yet'],
  ['has a host with other settings', () => (hosts[0] = host('web-1', { differs: 'policy' })), 'differs'],
])('is not ok for an environment that %s', async (_what, happens, fault) => {
  happens();
  const shown = await status('eu-1', '--json');
  expect(shown.exit).toBe(1);
  expect(JSON.parse(shown.stdout)).toMatchObject({ ok: false, fault });
  const all = await status('--json');
  expect(all.exit).toBe(1);
  expect(JSON.parse(all.stdout)).toMatchObject({
    envs: expect.arrayContaining([expect.objectContaining({ env: 'eu-1', ok: false, fault })]) as unknown,
  });
});
