import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import { type DeferralInput, deferralOf, deferringFactsOf, deferringLines } from './desiredState.rules.ts';
import type { CheckInResponse } from '../../api/answers.rules.ts';

const [a, b, c] = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)] as const;
const now = new Date('2026-11-26T12:00:00.000Z');
const told = { until: '2026-11-26T18:00:00.000Z', since: '2026-11-26T11:00:00.000Z', by: 'kim', reason: 'disk swap' };
const hold = { ...told, isDamaged: false };
const held = 'held until 2026-11-26T18:00:00.000Z, since 2026-11-26T11:00:00.000Z, by kim: disk swap';
const nights: TimeWindow = { days: ['thu', 'fri'], start: '22:00', minutes: 60, time_zone: 'UTC' };
const opening = '2026-11-26T22:00:00.000Z';

const applyOf = (desiredSha: string): CheckInResponse => ({
  ...{ action: 'apply', env: 'eu-1', backendId: 'b1', production: false, sizeBytes: 10, purgeVolumes: false },
  emergency: false,
  desiredSha,
});
const none: CheckInResponse = { ...applyOf(a), action: 'none' };
const down: CheckInResponse = { ...applyOf(a), action: 'down', desiredSha: null };

const free: DeferralInput = {
  state: { applied_sha: a, attempt: null },
  observed: { leader: null, healthy: true, unhealthyServices: [] },
  hold: null,
  windows: [],
  obeysEmergency: false,
  now,
};
const ill = { observed: { leader: null, healthy: false, unhealthyServices: ['db', 'web'] } };
const unseen = { observed: { leader: null, healthy: false, unhealthyServices: [] } };
const attemptOf = (sha: string, phase = 'starting') => ({
  state: { applied_sha: a, attempt: { sha, phase, at: now.toISOString() } },
  observed: { leader: null, healthy: false, unhealthyServices: [] },
});

it.each<[what: string, CheckInResponse, Partial<DeferralInput>, line: string | null, mayHeal: boolean]>([
  ['an apply', applyOf(b), {}, `apply of ${b}`, false],
  ['the first apply', applyOf(b), { state: { applied_sha: null, attempt: null } }, `apply of ${b}`, false],
  ['the applied bundle again', applyOf(a), {}, `apply of ${a}`, false],
  ['healing', none, ill, 'healing of db, web', false],
  [
    'healing while the engine does not answer',
    none,
    unseen,
    'healing of a host whose container engine does not answer',
    false,
  ],
  ['a down', down, {}, 'the down of a retirement', false],
  ['nothing where all is well', none, {}, null, false],
  ['no attempt that was begun and is desired', applyOf(b), attemptOf(b), null, false],
  ['an apply over another attempt, which is undone', applyOf(c), attemptOf(b), `apply of ${c}`, true],
  [
    'nothing but the attempt that is not desired any more',
    none,
    attemptOf(b),
    'healing after an interrupted apply',
    true,
  ],
  ['a down over an attempt, which is undone', down, attemptOf(b), 'the down of a retirement', true],
  ['what was left for diagnosis', applyOf(b), attemptOf(b, 'left'), `apply of ${b}`, false],
  ['what a lost state left', none, attemptOf(a, 'unknown'), 'the check of the release after the state was lost', false],
  ['an apply of what a lost state left', applyOf(a), attemptOf(a, 'unknown'), `apply of ${a}`, false],
  ['the next try of one whose revert is finished first', applyOf(b), attemptOf(b, 'reverting'), `apply of ${b}`, true],
])('a hold defers %s', (_, response, more, work, mayHeal) => {
  for (const windows of [[], [nights]]) {
    const expected =
      work === null ? null : { ending: 'held', reason: 'waits:hold', line: `${held}; ${work} waits`, mayHeal };
    expect(deferralOf(response, { ...free, hold, windows, ...more })).toEqual(expected);
  }
});

it.each<[what: string, CheckInResponse, Partial<DeferralInput>, mayHeal: boolean | null]>([
  ['an apply', applyOf(b), {}, true],
  ['an apply on an unhealthy host, which is healed meanwhile', applyOf(b), ill, true],
  ['an apply over another attempt, which is undone', applyOf(c), attemptOf(b), true],
  ['another try of what was left for diagnosis', applyOf(b), attemptOf(b, 'left'), false],
  ['another try of one whose revert is finished first', applyOf(b), attemptOf(b, 'reverting'), true],
  ['not the first apply', applyOf(b), { state: { applied_sha: null, attempt: null } }, null],
  ['not the applied bundle again', applyOf(a), {}, null],
  ['no attempt that was begun and is desired', applyOf(b), attemptOf(b), null],
  ['an apply over what a lost state left, which is checked', applyOf(b), attemptOf(a, 'unknown'), true],
  ['no apply of what a lost state left', applyOf(a), attemptOf(a, 'unknown'), null],
  ['no healing', none, ill, null],
  ['no down', down, {}, null],
])('closed windows defer %s', (_, response, more, mayHeal) => {
  const line = `outside the windows of this host: apply of ${response.desiredSha} waits until ${opening}`;
  const expected = mayHeal === null ? null : { ending: 'outsideWindow', reason: 'waits:window', line, mayHeal };
  expect(deferralOf(response, { ...free, windows: [nights], ...more })).toEqual(expected);
});

it('defers nothing while a window is open, and without windows', () => {
  const open = new Date('2026-11-26T22:30:00.000Z');
  expect(deferralOf(applyOf(b), { ...free, windows: [nights], now: open })).toBeNull();
  expect(deferralOf(applyOf(b), free)).toBeNull();
});

it('applies an emergency outside a window if the host permits it, but not under a hold', () => {
  const urgent = { ...applyOf(b), emergency: true };
  const input = { ...free, windows: [nights] };
  const endingOf = (more: object) => deferralOf(urgent, { ...input, ...more })?.ending ?? null;
  expect(endingOf({})).toBe('outsideWindow');
  expect(endingOf({ obeysEmergency: true })).toBeNull();
  expect(endingOf({ obeysEmergency: true, hold })).toBe('held');
  expect(deferralOf(applyOf(b), { ...input, obeysEmergency: true })?.ending).toBe('outsideWindow');
});

it('reports a hold and the next opening, and neither if nothing defers the tick', () => {
  const facts = deferringFactsOf({ hold, windows: [nights] }, now);
  expect(facts).toEqual({ hold: told, window_opens_at: opening });
  expect(deferringLines(facts)).toEqual([held, `all windows are closed; the next opens at ${opening}`]);
  expect(deferringFactsOf({ hold: null, windows: [] }, now)).toEqual({});
  expect(deferringLines({})).toEqual([]);
});

it.each<[what: string, CheckInResponse, Partial<DeferralInput>, work: string | null]>([
  ['an apply', applyOf(b), {}, `apply of ${b}`],
  ['healing', none, ill, 'healing of db, web'],
  ['an attempt that was cut short', applyOf(b), attemptOf(b), `apply of ${b}`],
  ['a down', down, { hold }, 'the down of a retirement'],
  ['nothing where all is well', none, {}, null],
])('leaves %s to the leader of the swarm', (_, response, more, work) => {
  const input = { ...free, ...more };
  const followed = { ...input, observed: { ...input.observed, leader: 'one' } };
  const line = `one leads the swarm: ${work} is its work`;
  const expected = work === null ? null : { ending: 'converged', reason: 'leader:one', line, mayHeal: false };
  expect(deferralOf(response, followed)).toEqual(expected);
});
