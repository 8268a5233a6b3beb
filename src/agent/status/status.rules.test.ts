import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { emptyState, type State, unknownTokenStatus } from '../state/state.rules.ts';
import { formatStatus, outOfSyncReason, type StatusFacts, statusOf, trustsOf, trustSummary } from './status.rules.ts';

const sha = 'a'.repeat(64);
const other = 'b'.repeat(64);
const at = '2026-11-21T12:00:00.000Z';
const textAt = '2026-11-21T12:03:30.000Z';
const settings = {
  env: 'eu-1',
  site: 'berlin',
  transport: 'sdk',
  laptop_mode: false,
  interval_s: 60,
  policy: defaultPolicy,
  trust: { bundles: null, images: null },
} as const;
const facts = {
  ...{ version: '0.2.0', token: true, deferring: {}, violations: [], lock: { held: false, pid: null, since: null } },
  ...{ now: new Date(at), bootTime: { boot: 'b1', uptime_s: 100 } },
  seen: { known: { containers: [], troubles: [] } },
} satisfies StatusFacts;

const report = { report_id: 'r1' } as State['pending_reports'][number];

const converged: State = {
  ...emptyState('eu-1'),
  applied_sha: sha,
  applied_at: at,
  applied_version: '2026.11.21-3',
  last_check_in: { at, action: 'none', desired_sha: sha },
  last_outcome: { at, outcome: 'heartbeat', code: null, detail: null },
  token: { ...unknownTokenStatus(), expires_at: '2026-11-22T12:00:00.000Z', renewable: true },
};

it('has exactly the documented keys, in their order', () => {
  expect(JSON.stringify(statusOf(settings, { ...converged, pending_reports: [report] }, facts))).toBe(
    JSON.stringify({
      version: '0.2.0',
      env: 'eu-1',
      site: 'berlin',
      transport: 'sdk',
      laptop_mode: false,
      token: 'present',
      token_expires_at: '2026-11-22T12:00:00.000Z',
      applied_sha: sha,
      applied_version: '2026.11.21-3',
      desired_sha: sha,
      in_sync: true,
      last_check_in: { at, action: 'none', desired_sha: sha },
      last_outcome: { at, outcome: 'heartbeat', code: null, detail: null },
      failing: null,
      purge_pending: null,
      lock: { held: false, pid: null, since: null },
      pending_reports: 1,
      health: 'healthy',
      containers: [],
    }),
  );
});

it('has the swarm only for a host that was seen in one', () => {
  const swarm = { id: 'pd2f', node: 'ou69' };
  expect(statusOf(settings, { ...converged, swarm }, facts)).toMatchObject({ swarm });
  for (const state of [converged, { ...converged, swarm: null }])
    expect(statusOf(settings, state, facts)).not.toHaveProperty('swarm');
});

it('has the refused grant and the pending purge only if they exist', () => {
  const purge_pending = { since: at, volumes: [], networks: ['n'] };
  const token = { ...unknownTokenStatus(), grant_refused: 'BOOTSTRAP_REFUSED: expired' };
  const status = statusOf(settings, { ...emptyState('eu-1'), purge_pending, token }, facts);
  expect(status).toMatchObject({ grant_refused: 'BOOTSTRAP_REFUSED: expired', purge_pending, desired_sha: null });
  expect(statusOf(settings, converged, facts)).not.toHaveProperty('grant_refused');
});

it('has the policy of the host only if it has one, and shows it in a row', () => {
  const policy = { ...defaultPolicy, deny: ['privileged'] as const };
  const status = statusOf({ ...settings, policy }, converged, facts);
  expect(status.policy).toEqual(policy);
  const context = { state: converged, stateError: null, now: new Date(textAt) };
  expect(formatStatus(status, context)).toMatch(/^ {2}policy +denies privileged$/m);
  expect(statusOf(settings, converged, facts)).not.toHaveProperty('policy');
});

it.each([
  [{ hold: { until: at, reason: null } }, `  hold           until ${at}`],
  [{ hold: { until: at, reason: 'repairs' } }, `  hold           until ${at}: repairs`],
  [
    { hold: { until: at, since: at, by: 'kim', reason: 'repairs' } },
    `  hold           until ${at}, since ${at}, by kim: repairs`,
  ],
  [{ window_opens_at: at }, `  windows        closed, the next opens at ${at}`],
])('shows with %j the row "%s"', (deferring, row) => {
  const context = { state: converged, stateError: null, now: new Date(textAt) };
  const plain = formatStatus(statusOf(settings, converged, facts), context).split('\n');
  const lines = formatStatus({ ...statusOf(settings, converged, facts), ...deferring }, context).split('\n');
  expect(lines.filter((line) => !plain.includes(line))).toEqual([row]);
});

it('shows no expiry of an absent token', () => {
  expect(statusOf(settings, converged, { ...facts, token: false })).toMatchObject({
    token: 'ABSENT',
    token_expires_at: null,
  });
});

const last = (outcome: string): Partial<State> => ({ last_outcome: { at, outcome, code: null, detail: null } });

describe.each<[string, boolean, Partial<State>]>([
  ['converged', true, {}],
  ['applied', true, last('applied')],
  ['torn down', true, { ...last('down'), applied_sha: null, last_check_in: { at, action: 'down', desired_sha: null } }],
  ['been offline since', true, last('offline')],
  ['never checked in', false, { last_check_in: null }],
  ['another desired bundle', false, { last_check_in: { at, action: 'apply', desired_sha: other } }],
  ['refused', false, last('refused')],
  ['failed', false, last('failed')],
  ['unhealthy', false, last('unhealthy')],
  ['unauthenticated', false, last('unauthenticated')],
  ['an unknown last outcome', false, last('toString')],
  ['half applied', false, { attempt: { sha, phase: 'promoted', at } }],
  ['failing', false, { failing: { sha, count: 2, retry_at: at, line: 'failed: x' } }],
])('a host that has %s', (_title, inSync, patch) => {
  const state = { ...converged, ...patch };

  it(`is ${inSync ? '' : 'not '}in sync`, () => {
    expect(statusOf(settings, state, facts).in_sync).toBe(inSync);
  });

  it('is never in sync without a token', () => {
    expect(statusOf(settings, state, { ...facts, token: false }).in_sync).toBe(false);
  });

  it('has a reason unless it is in sync', () => {
    expect(text(state).startsWith('in sync: ')).toBe(inSync);
  });
});

const failing = { sha, count: 2, retry_at: at, line: 'failed: x' };

it.each<[Partial<State>, string | null]>([
  [{}, null],
  [{ failing }, `${sha} failed 2 times, next try at ${at}: failed: x`],
  [{ failing: { ...failing, count: 1 } }, `${sha} failed once, next try at ${at}: failed: x`],
  [{ failing: { ...failing, sha: other } }, null],
  [{ last_outcome: { at, outcome: 'failed', code: 'UP_FAILED', detail: 'rc=1' } }, 'failed: UP_FAILED: rc=1'],
  [{ last_outcome: null }, null],
  [{ last_outcome: { at, outcome: 'held', code: null, detail: 'held until x' } }, 'held until x'],
  [{ last_outcome: { at, outcome: 'outsideWindow', code: null, detail: 'outside x' } }, 'outside x'],
  [{ last_check_in: null }, 'no check-in yet'],
  [{ attempt: { sha, phase: 'promoted', at } }, `${sha} is half applied (promoted); the next tick continues it`],
  [{ applied_sha: null }, `desired is ${sha}, applied is nothing`],
  [{ last_check_in: { at, action: 'down', desired_sha: null } }, `desired is nothing, applied is ${sha}`],
])('a host with %j is not in sync because: %s', (patch, reason) => {
  expect(outOfSyncReason({ ...converged, ...patch })).toBe(reason);
});

describe('the status text', () => {
  it('shows the applied bundle first, then aligned facts', () => {
    expect(text(converged)).toBe(
      [
        `in sync: 2026.11.21-3 (${sha}) since ${at}`,
        '  host           environment eu-1, site berlin, transport sdk',
        '  token          present, expires at 2026-11-22T12:00:00.000Z',
        `  applied        2026.11.21-3 (${sha}) since ${at}`,
        '  containers     0 containers',
        `  desired        ${sha}`,
        `  last check-in  none at ${at} (3 min ago)`,
        `  last outcome   heartbeat at ${at}`,
        '  lock           free',
        '  version        deployd 0.2.0',
      ].join('\n'),
    );
  });

  it('shows an absent token in a separate line', () => {
    const lines = (state: State) => text(state, { token: false }).split('\n').slice(0, 3);
    const host = '  host           environment eu-1, site berlin, transport sdk';
    expect(lines(converged)).toEqual(['token ABSENT', host, '  token          ABSENT']);
    expect(lines({ ...converged, last_check_in: null })).toEqual([
      'token ABSENT',
      'not in sync: no check-in yet',
      host,
    ]);
  });

  it('shows a host on which nothing has happened yet', () => {
    const state = emptyState('eu-1');
    const status = statusOf({ ...settings, laptop_mode: true }, state, { ...facts, lock: null });
    expect(formatStatus(status, { state, stateError: null, now: new Date(at) }).split('\n')).toEqual([
      'not in sync: no check-in yet',
      '  host           environment eu-1, site berlin, transport sdk, laptop',
      '  token          present, without a known end',
      '  applied        nothing',
      '  containers     0 containers',
      '  desired        nothing',
      '  last check-in  never',
      '  last outcome   none',
      '  version        deployd 0.2.0',
    ]);
  });

  it('shows that nothing is desired', () => {
    const last_check_in = { at, action: 'down' as const, desired_sha: null };
    expect(text({ ...converged, applied_sha: null, last_check_in }).split('\n')[0]).toBe(
      'in sync: nothing is to run here',
    );
  });

  it.each<[Partial<State>, string]>([
    [{ applied_version: null }, `  applied        ${sha} since ${at}`],
    [{ applied_at: null }, `  applied        2026.11.21-3 (${sha})`],
    [{ token: { ...converged.token, expires_at: textAt } }, `  token          present, expired at ${textAt}`],
    [{ token: { ...converged.token, grant_refused: 'expired' } }, '  grant          expired'],
    [{ swarm: { id: 'pd2f', node: 'ou69' } }, '  swarm          node ou69 of pd2f'],
    [{ attempt: { sha, phase: 'promoted', at } }, `  attempt        ${sha}, promoted since ${at}`],
    [{ failing }, `  failing        ${sha}, 2 in a row, next try at ${at}`],
    [
      { last_outcome: { at, outcome: 'failed', code: 'UP_FAILED', detail: 'failed: a\ncause: web=exited(3)\nb' } },
      '  cause          web=exited(3)',
    ],
    [
      { last_outcome: { at, outcome: 'failed', code: 'UP_FAILED', detail: null } },
      `  last outcome   failed: UP_FAILED at ${at}`,
    ],
    [{ token: { ...converged.token, trouble: 'renewal refused' } }, '  trouble        renewal refused'],
    [
      { purge_pending: { since: at, volumes: ['eu-1_a', 'eu-1_b'], networks: ['eu-1_net'] } },
      '  still to go    volume eu-1_a, volume eu-1_b, network eu-1_net; ' +
        'in use outside the project, tried until 2026-11-22T12:00:00.000Z',
    ],
  ])('shows for a state with %j the row "%s"', (patch, row) => {
    expect(text({ ...converged, ...patch }).split('\n')).toContain(row);
  });

  it.each([
    [-1, '0 min ago'],
    [59, '0 min ago'],
    [119 * 60 + 59, '119 min ago'],
    [120 * 60, '2 h ago'],
    [2880 * 60 - 1, '47 h ago'],
    [2880 * 60, '2 days ago'],
  ])('shows a check-in before %d s as %s', (ageS, age) => {
    const status = statusOf(settings, converged, facts);
    const now = new Date(Date.parse(at) + ageS * 1000);
    expect(formatStatus(status, { state: converged, stateError: null, now })).toContain(`none at ${at} (${age})\n`);
  });

  it('shows a failing bundle with its next retry and its last line', () => {
    const state = {
      ...converged,
      last_check_in: { at, action: 'apply' as const, desired_sha: other },
      last_outcome: { at, outcome: 'failed', code: 'PULL_FAILED', detail: 'rc=1' },
      failing: {
        sha: other,
        count: 3,
        retry_at: '2026-11-21T12:04:00.000Z',
        line: 'failed: docker compose pull failed (rc=1)',
      },
    };
    expect(text(state).split('\n')[0]).toBe(
      `not in sync: ${other} failed 3 times, next try at 2026-11-21T12:04:00.000Z: failed: docker compose pull failed (rc=1)`,
    );
  });

  it('shows the holder of the lock and the pending reports', () => {
    const lines = text({ ...converged, pending_reports: [report] }, { lock: { held: true, pid: 42, since: at } });
    expect(lines).toContain(`  lock           held by pid 42 since ${at}\n  reports        1 wait for delivery\n`);
  });

  it('shows the error of the state file instead of its content', () => {
    const state = emptyState('eu-1');
    const stateError = 'STATE_CORRUPT: state.json is not a JSON object; the next tick rebuilds it';
    const headlines = (token: boolean) => {
      const status = statusOf(settings, state, { ...facts, token });
      return formatStatus(status, { state, stateError, now: new Date(at) }).split('\n  host')[0];
    };
    expect([headlines(true), headlines(false)]).toEqual([stateError, `token ABSENT\n${stateError}`]);
  });

  it('contains no control characters', () => {
    const state = {
      ...converged,
      last_outcome: { at, outcome: 'failed', code: null, detail: 'a\u001b\u0007[2Jb\r\nc' },
    };
    expect(text(state).split('\n')[0]).toBe('not in sync: failed: a [2Jb c');
  });
});

function text(state: State, more: Partial<typeof facts> | object = {}): string {
  const status = statusOf(settings, state, { ...facts, ...more });
  return formatStatus(status, { state, stateError: null, now: new Date(textAt) });
}

const release = '/etc/deployd/trust/release.pub';
const root = '/etc/deployd/trust/trusted_root.json';
const ops = { issuer: 'https://id.example', subject: 'ops@example.com' };

it.each([
  [{ keys: [release] }, `bundles signed by all of ${release} (key SHA256:a)`],
  [
    { keys: [release], identities: [ops] },
    `bundles signed by 1 of ${release} (key SHA256:a), ops@example.com (https://id.example)`,
  ],
  [{ identities: [ops] }, 'bundles signed by all of ops@example.com (https://id.example)'],
  [
    { identities: [ops], root },
    `bundles signed by all of ops@example.com (https://id.example), with the trust root ${root} (sha256 0a)`,
  ],
  [{ keys: [release], root: '/x' }, `bundles signed by all of ${release} (key SHA256:a), with the trust root /x`],
  [
    { threshold: 2, identities: [ops], keys: [release] },
    `bundles signed by all of ${release} (key SHA256:a), ops@example.com (https://id.example)`,
  ],
])('%j', (trust, text) => {
  const fingerprints = new Map([
    [release, 'key SHA256:a'],
    [root, 'sha256 0a'],
  ]);
  expect(trustSummary('bundles', trust, fingerprints)).toBe(text);
});

it('shows which of the two must be signed', () => {
  const images = { keys: [release] };
  expect(trustsOf({ bundles: null, images: null })).toEqual([]);
  expect(trustsOf({ bundles: null, images })).toEqual([['images', images]]);
  expect(trustsOf({ bundles: images, images }).map(([signed]) => signed)).toEqual(['bundles', 'images']);
});
