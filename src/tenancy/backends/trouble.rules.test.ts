import { causeOf, groupTroubles, type TroubledHost } from './trouble.rules.ts';

const host = (id: string, facts: Partial<TroubledHost> = {}): TroubledHost => ({
  ...{ id, env: 'eu-1', host_name: id, site: 'fra', laptop: false, state: 'active', healthy: true, trouble: null },
  ...{ locked_at: null, cloned_at: null, state_since: 1, report: null },
  ...facts,
});
const failed = (id: string, detail: string, facts: Partial<TroubledHost> = {}) =>
  host(id, {
    trouble: 'failed',
    report: { receivedAt: 5, report: { outcome: 'failed', code: 'UP_FAILED', detail, output_tail: 'a\nb\nc\nd\n' } },
    ...facts,
  });

it.each<[string | null, Partial<TroubledHost>]>([
  [null, {}],
  ['failed', { trouble: 'failed', healthy: false }],
  ['refused', { trouble: 'refused' }],
  ['unhealthy', { healthy: false }],
  ['offline', { state: 'offline', trouble: 'failed' }],
  ['asleep', { state: 'offline', laptop: true }],
  ['cloned', { cloned_at: 1, locked_at: 1 }],
  ['locked', { locked_at: 1, state: 'offline' }],
])('names the cause %s', (cause, facts) => {
  expect(causeOf(host('web-1', facts))).toBe(cause);
});

it('groups hosts whose details differ in names and numbers only, the worst and the largest group first', () => {
  const groups = groupTroubles([
    host('web-1', { state: 'offline' }),
    failed('web-2', 'port 80 of web-2 is taken'),
    failed('web-3', 'port 81 of web-3 is taken', { report: null }),
    failed('web-4', 'port 8080 of web-4 is taken'),
    failed('web-5', 'port 80 of web-5 is taken', { env: 'us-1' }),
    failed('web-6', 'no space is left'),
    host('web-7'),
  ]);
  expect(groups.map(({ env, cause, detail, hosts }) => [env, cause, detail, hosts.map(({ id }) => id)])).toEqual([
    ['eu-1', 'failed', 'port 80 of web-2 is taken', ['web-2', 'web-4']],
    ['eu-1', 'failed', null, ['web-3']],
    ['eu-1', 'failed', 'no space is left', ['web-6']],
    ['us-1', 'failed', 'port 80 of web-5 is taken', ['web-5']],
    ['eu-1', 'offline', null, ['web-1']],
  ]);
  expect(groups[0]).toMatchObject({ code: 'UP_FAILED', output: 'b\nc\nd', since: 5 });
});
