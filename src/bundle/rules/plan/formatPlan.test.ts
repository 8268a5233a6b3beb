import type { Plan } from './plan.ts';
import { formatPlan } from './formatPlan.ts';

const gib = 2 ** 30;
const plan: Plan = {
  bundle: { name: 'shop', env: 'eu-1', version: '7', sequence: 3 },
  sha: 'abc',
  refusals: [],
  permitted: [
    { permit: 'engine_socket', entry: 'traefik', service: 'traefik' },
    { permit: 'binds', entry: '/srv/a:ro', service: 'web' },
    { permit: 'networks', entry: 'proxy' },
  ],
  disk: [
    { paths: ['/var/lib/docker', '/srv'], free_bytes: 9 * gib, needed_bytes: 2 * gib },
    { paths: ['/data'], free_bytes: null, needed_bytes: 2 * gib },
  ],
  profiles: [
    { name: 'debug', change: 'new' },
    { name: 'tools', change: 'removed' },
  ],
  services: [
    { name: 'web', change: 'new' },
    { name: 'db', change: 'unchanged' },
    { name: 'api', change: 'new' },
  ],
  volumes: [],
  images: [{ name: 'app:1\u001b[2J', change: 'new' }],
  variables: { LEVEL: 'info', LINES: 'a\n\u001b[2J', LONG: 'x'.repeat(81) },
  ignored: ['name shop (compose.yaml)'],
  shown: ['service web: DB, to whoever may inspect services'],
  not_judged: [{ codes: ['ROLLBACK_REFUSED', 'VOLUME_DIVERGED'], why: 'no state' }],
};

it('shows the verdict first, then aligned facts, without empty rows', () => {
  expect(formatPlan(plan).split('\n')).toEqual([
    'nothing is refused',
    '  bundle      shop 7, sequence 3, for env eu-1',
    '              abc',
    '  policy      permitted here: engine_socket traefik, which is root on the host',
    '              permitted here: binds /srv/a:ro for service web',
    '              permitted here: networks proxy',
    '  disk        /var/lib/docker, /srv: needs 2.0 GiB, 9.0 GiB free',
    '              /data: needs 2.0 GiB, nobody can tell how much is free',
    '  profiles    new: debug',
    '              removed: tools',
    '  services    new: web, api',
    '              unchanged: db',
    '  images      new: app:1 [2J',
    '  variables   LEVEL=info',
    '              LINES=a\ufffd\ufffd[2J',
    `              LONG=${'x'.repeat(80)}…`,
    '  ignored     name shop (compose.yaml)',
    '  shown       service web: DB, to whoever may inspect services',
    '  not judged  ROLLBACK_REFUSED, VOLUME_DIVERGED: no state',
  ]);
});

it('names who signed the bundle', () => {
  expect(formatPlan({ ...plan, signers: ['key SHA256:a', 'ops@example.com (https://id.example)'] })).toContain(
    '\n  signed by   key SHA256:a\n              ops@example.com (https://id.example)\n',
  );
});

it('shows refusals in the lines of a tick', () => {
  const refusals: Plan['refusals'] = [
    { code: 'ENV_INCOMPLETE', detail: 'unresolved: A' },
    { code: 'ROLLBACK_REFUSED', detail: 'old' },
  ];
  expect(
    formatPlan({ ...plan, refusals })
      .split('\n')
      .slice(0, 3),
  ).toEqual([
    'refused: ENV_INCOMPLETE: unresolved: A',
    'refused: ROLLBACK_REFUSED: old',
    '  bundle      shop 7, sequence 3, for env eu-1',
  ]);
});

it('is as wide as its longest row, and shows no bundle without a usable manifest', () => {
  const volumes: Plan['volumes'] = [{ name: 'data', change: 'unused' }];
  const narrow = {
    ...plan,
    permitted: [],
    disk: [],
    profiles: [],
    services: [],
    images: [],
    variables: {},
    ignored: [],
    shown: [],
    not_judged: [],
    volumes,
  };
  const lines = (more: Partial<Plan>) => formatPlan({ ...narrow, ...more }).split('\n');
  expect(lines({ bundle: null, sha: null })).toEqual(['nothing is refused', '  volumes  unused: data']);
  expect(lines({ bundle: null })).toEqual(['nothing is refused', '  bundle   abc', '  volumes  unused: data']);
  expect(lines({ sha: null, volumes: [] })).toEqual([
    ...['nothing is refused', '  bundle  shop 7, sequence 3, for env eu-1'],
  ]);
});
