import { causeOf, groupTroubles, shareGroups, type TroubledHost } from './trouble.rules.ts';

const host = (id: string, facts: Partial<TroubledHost> = {}): TroubledHost => ({
  ...{ id, env: 'eu-1', host_name: id, site: 'fra', laptop: false, state: 'active', healthy: true, trouble: null },
  ...{ locked_at: null, cloned_at: null, state_since: 1, troubled_since: null, reason: null },
  ...facts,
});
const failed = (id: string, detail: string, facts: Partial<TroubledHost> = {}) =>
  host(id, {
    trouble: 'failed',
    troubled_since: 5,
    reason: { outcome: 'failed', code: 'UP_FAILED', detail, output: `output of ${id}` },
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
    failed('web-3', 'port 81 of web-3 is taken', { reason: null }),
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
  expect(groups[0]).toMatchObject({ code: 'UP_FAILED', output: 'output of web-2', since: 5 });
});

it.each([
  ['all is well', 'all is well is taken'],
  ['db', 'db is taken'],
  ['web', 'web-9 is taken'],
])('does not let a host named %s join other hosts with the detail %j', (host_name, detail) => {
  const groups = groupTroubles([failed('web-1', 'web-1 is taken'), failed('web-2', detail, { host_name })]);
  expect(groups.map(({ hosts }) => hosts.length)).toEqual([1, 1]);
});

it('gives the places of groups to the environments by turns, and keeps the order', () => {
  const hosts = [
    ...['a', 'b', 'c', 'd'].map((word) => failed(word, `no ${word}`)),
    ...['e', 'f'].map((word) => failed(word, `no ${word}`, { env: 'us-1', trouble: 'refused' })),
  ];
  const shown = (limit: number) => shareGroups(groupTroubles(hosts), limit).map(({ detail, env }) => detail ?? env);
  expect([shown(3), shown(6)]).toEqual([
    ['no a', 'no b', 'us-1'],
    ['no a', 'no b', 'no c', 'no d', 'us-1'],
  ]);
});
