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
  warnings: [{ text: 'service web: volumes ./data is part of the bundle', cure: 'mount it with :ro' }],
  notices: [{ text: 'service web: command /run.sh has lines that end with CR LF', cure: 'store it with LF' }],
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
    '  warnings    service web: volumes ./data is part of the bundle: mount it with :ro',
    '  notices     service web: command /run.sh has lines that end with CR LF: store it with LF',
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
    warnings: [],
    notices: [],
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

it.each([
  [{ seconds: 300, chain: [] }, ['up to 300s for healthy containers; no healthcheck is known']],
  [
    {
      seconds: 780,
      chain: [
        { service: 'db', seconds: 690, why: 'start_period 600s + 3 × interval 30s' },
        { service: 'web', seconds: 90, why: '3 × interval 30s' },
      ],
      jobs: ['migrate', 'seed'],
      unknown_images: ['app:1', 'db:2'],
    },
    [
      'up to 780s for healthy containers; longest chain: db 690s (start_period 600s + 3 × interval 30s), then web 90s (3 × interval 30s)',
      'each job up to 3600s until it has ended: migrate, seed',
      'not counted, since not on this host yet: healthchecks of app:1, db:2',
    ],
  ],
  [
    {
      seconds: null,
      job_timeout_s: null,
      jobs: ['migrate'],
      chain: [{ service: 'db', seconds: 90, why: '3 × interval 30s' }],
    },
    ['longest chain: db 90s (3 × interval 30s)', 'each job until it has ended: migrate'],
  ],
])('shows the wait %#', (wait, lines) => {
  const none = { seconds: null, chain: [], jobs: [], job_timeout_s: 3600, unknown_images: [] };
  const shown = formatPlan({ ...plan, wait: { ...none, ...wait } });
  for (const line of lines) expect(shown).toContain(`  ${line}`);
});
