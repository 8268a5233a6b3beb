import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { emptyState, type State, unknownTokenStatus } from '../state/state.rules.ts';
import { formatStatus, type StatusFacts, statusOf } from './status.rules.ts';

const sha = 'a'.repeat(64);
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

const converged: State = {
  ...emptyState('eu-1'),
  applied_sha: sha,
  applied_at: at,
  applied_version: '2026.11.21-3',
  last_check_in: { at, action: 'none', desired_sha: sha },
  last_outcome: { at, outcome: 'heartbeat', code: null, detail: null },
  token: { ...unknownTokenStatus(), expires_at: '2026-11-22T12:00:00.000Z', renewable: true },
};

describe('a host that was in sync at its last tick', () => {
  const web = { service: 'web', name: 'web-1', state: 'running', health: 'healthy', exit_code: null };
  const dead = { service: 'db', name: 'db-1', state: 'exited', health: null, exit_code: 137 };
  const troubles = [
    { service: 'db', detail: 'exited(137)' },
    { service: 'job', detail: 'missing' },
  ];
  const clock = { at, boot: 'b1', uptime_s: 90 };
  const after = (s: number) => ({ now: new Date(Date.parse(at) + s * 1000) });
  const old = (age: string, limit: string) => `the last check-in was ${age} ago, longer than ${limit}`;
  const future = `the last check-in is dated ${at}, in the future: the clock was set back`;

  it.each<[string, Partial<StatusFacts>, string | null, Partial<State>?, object?]>([
    ['has all services healthy', { seen: { known: { containers: [web], troubles: [] } } }, null],
    [
      'has a dead and a missing service',
      { seen: { known: { containers: [web, dead], troubles } } },
      'unhealthy: db=exited(137), job=missing',
    ],
    ['does not see its engine', { seen: { unknown: 'no socket; start it' } }, 'unknown: no socket; start it'],
    ['checked in three intervals ago', after(180), null],
    ['has not checked in since', after(181), old('3 min', 'three intervals (180 s)')],
    ['waits for a short interval and its jitter', after(40), null, {}, { interval_s: 10 }],
    ['missed that', after(41), old('0 min', '40 s'), {}, { interval_s: 10 }],
    ['is a laptop after a night', after(86_400), null, {}, { laptop_mode: true }],
    ['is a laptop after a weekend', after(200_000), old('2 days', '24 hours'), {}, { laptop_mode: true }],
    ['has a clock that was set back a little', after(-60), null],
    ['has a clock that was set back', after(-61), future],
    ['has a clock that is far ahead', after(3e9), old('34722 days', 'three intervals (180 s)')],
    [
      'has a clock that was set back to the last check-in',
      { ...after(1), bootTime: { boot: 'b1', uptime_s: 4000 } },
      old('65 min', 'three intervals (180 s)'),
      { check_in_clock: clock },
    ],
    [
      'has booted with a clock that stood still',
      { ...after(1), bootTime: { boot: 'b2', uptime_s: 400 } },
      old('6 min', 'three intervals (180 s)'),
      { check_in_clock: clock },
    ],
    [
      'is looked at by a user who sees the id of the boot, which the unit hides from the agent',
      { bootTime: { boot: 'b1', uptime_s: 4000 } },
      null,
      { check_in_clock: { at, boot: '', uptime_s: 3999 } },
    ],
    [
      'has booted unnoticed with a clock that stood still',
      { bootTime: { boot: 'b2', uptime_s: 400 } },
      old('6 min', 'three intervals (180 s)'),
      { check_in_clock: { at, boot: '', uptime_s: 3999 } },
    ],
    ['has just booted', { bootTime: { boot: 'b2', uptime_s: 40 } }, null, { check_in_clock: clock }],
    [
      'checked in by an older agent since',
      { bootTime: { boot: 'b1', uptime_s: 4000 } },
      null,
      { check_in_clock: { ...clock, at: textAt } },
    ],
  ])('and %s', (_title, more, reason, patch = {}, changed = {}) => {
    const state = { ...converged, ...patch };
    const status = statusOf({ ...settings, ...changed }, state, { ...facts, ...more });
    expect(status.in_sync).toBe(reason === null);
    expect(status.out_of_sync_reason).toBe(reason ?? undefined);
    const [headline] = formatStatus(status, { state, stateError: null, now: new Date(at) }).split('\n');
    const isUnknown = reason?.startsWith('unknown') ?? false;
    expect(headline).toBe(
      reason === null ? `in sync: 2026.11.21-3 (${sha}) since ${at}` : `${isUnknown ? '' : 'not in sync: '}${reason}`,
    );
  });

  it.each<[StatusFacts['seen'], object, string]>([
    [{ known: { containers: [web], troubles: [] } }, { health: 'healthy', containers: [web] }, '1 container'],
    [
      { known: { containers: [web, dead], troubles } },
      { health: 'unhealthy', unhealthy_services: troubles, containers: [web, dead] },
      '2 containers; unhealthy: db=exited(137), job=missing',
    ],
    [{ unknown: 'x' }, { health: 'unknown', health_unknown_reason: 'x' }, 'unknown: x'],
  ])('shows the containers that it sees: %#', (seen, expected, row) => {
    const status = statusOf(settings, converged, { ...facts, seen });
    expect(status).toMatchObject(expected);
    expect(Object.keys(status).slice(-Object.keys(expected).length)).toEqual(Object.keys(expected));
    const text = formatStatus(status, { state: converged, stateError: null, now: new Date(at) });
    expect(text.split('\n')).toContain(`  containers     ${row}`);
  });
});
