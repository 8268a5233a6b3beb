import { offlineAlarmLine, offlineSince } from './checkInAge.rules.ts';

const now = new Date('2026-11-26T12:00:00.000Z');
const [yesterday, noon, tomorrow] = [
  '2026-11-25T12:00:00.000Z',
  '2026-11-26T12:00:00.000Z',
  '2026-11-27T12:00:00.000Z',
];
const checkInAt = (at: string) => ({ at, action: 'none' as const, desired_sha: null });

it.each([
  ['its last check-in', { last_check_in: checkInAt(yesterday) }, yesterday],
  ['its last check-in, as was recorded', { last_check_in: checkInAt(yesterday), offline_since: yesterday }, yesterday],
  ['its first tick, without a check-in', { last_check_in: null, offline_since: yesterday }, yesterday],
  ['now, at its first tick', { last_check_in: null }, noon],
  ['now, after the clock was set back', { last_check_in: checkInAt(tomorrow), offline_since: tomorrow }, noon],
  ['the first tick after that', { last_check_in: checkInAt(tomorrow), offline_since: yesterday }, yesterday],
])('a host is offline since %s', (_, state, since) => {
  expect(offlineSince(state, now)).toBe(since);
});

it('is logged once it lasts longer than configured, and never without an alarm', () => {
  expect(offlineAlarmLine(yesterday, 86_399, now)).toBe(
    `no check-in since ${yesterday}, for longer than offline_alarm_s (86399 s)`,
  );
  expect([offlineAlarmLine(yesterday, 86_400, now), offlineAlarmLine(yesterday, null, now)]).toEqual([null, null]);
});
