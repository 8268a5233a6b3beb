import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { emptyState, type State } from '../state/state.ts';
import { checkLastTick, checkTimer, parseTimerFacts } from './timerChecks.ts';

describe('the timer', () => {
  const shown = (unit: string, active: string, sub: string, load = 'loaded') =>
    `LoadState=${load}\nActiveState=${active}\nSubState=${sub}\nUnitFileState=${unit}\n`;
  const waiting = shown('enabled', 'active', 'waiting');
  const enable = [
    'deployd.timer is not enabled: no tick after the next boot',
    'sudo systemctl enable --now deployd.timer',
  ];
  const start = ['deployd.timer does not run', 'sudo systemctl start deployd.timer'];

  it.each<[string, string, string[]]>([
    ['waits, or runs a tick now', shown('enabled', 'active', 'running'), ['timer: passed', 'running']],
    ['is enabled until the next boot', shown('enabled-runtime', 'active', 'waiting'), ['timer: passed', 'waiting']],
    ['is not enabled', shown('disabled', 'active', 'waiting'), ['timer: failed', 'waiting', ...enable]],
    ['has no known unit file', 'LoadState=loaded\nActiveState=active', ['timer: failed', '', ...enable]],
    ['is stopped', shown('enabled', 'inactive', 'dead'), ['timer: failed', 'dead', ...start]],
    [
      'has no next run',
      shown('enabled', 'active', 'elapsed'),
      ['timer: failed', 'elapsed', 'deployd.timer has no next run', 'sudo systemctl restart deployd.timer'],
    ],
    [
      'is masked',
      shown('masked', 'inactive', 'dead', 'masked'),
      ['timer: failed', 'dead', 'deployd.timer is masked', 'sudo systemctl unmask deployd.timer', ...start],
    ],
    [
      'is not installed',
      shown('', 'inactive', 'dead', 'not-found'),
      ['timer: not applicable', 'deployd.timer is not installed on this host'],
    ],
    ['is unknown without systemd', '', ['timer: not applicable', 'systemd does not run here']],
  ])('%s', (_name, text, lines) => {
    expect(checkLines(checkTimer(parseTimerFacts(text, '[]'), null))).toStrictEqual(lines);
  });

  it.each([
    ['[{"next":1795262400000000,"unit":"deployd.timer"}]', 'next run at 2026-11-21T12:00:00.000Z'],
    ['[{"next":0}]', 'waiting'],
    ['[{"next":"1795262400000000"}]', 'waiting'],
    ['[{}]', 'waiting'],
    ['no JSON', 'waiting'],
  ])('shows its next run, when systemd lists %s', (listed, detail) => {
    expect(checkLines(checkTimer(parseTimerFacts(waiting, listed), null))).toEqual(['timer: passed', detail]);
  });
});

describe('the last check-in', () => {
  const at = '2026-11-21T12:00:00.000Z';
  const state: State = { ...emptyState('eu-1'), last_check_in: { at, action: 'none', desired_sha: null } };
  const passed = ['ticks: passed', `last check-in at ${at}`];
  const failed = (problem: string, fix = 'sudo deployd trace --list') => [
    ...['ticks: failed', `last check-in at ${at}`, problem, fix],
  ];
  const late = (age: string, limit: string) => failed(`the last check-in was ${age} ago, longer than ${limit}`);
  const alarmed = failed(`no check-in since ${at}, for longer than offline_alarm_s (9999 s)`);
  const ofFuture = failed(
    `the last check-in is dated ${at}, in the future: the clock was set back`,
    'sudo timedatectl set-ntp true',
  );
  const none = ['ticks: failed', 'none', 'no tick has checked in yet', 'sudo deployd run --once'];

  const limits = { intervalS: 60, laptop: false, alarmS: null, bootTime: { boot: '', uptime_s: 0 } };
  const lastTick = (found: State | null, ageS: number, more: object = {}) => {
    const now = new Date(Date.parse(at) + ageS * 1000);
    const context = { now, agent: { name: 'deployd', uid: 900, gids: [] }, state: { known: found } };
    return checkLines(checkLastTick(context, { ...limits, ...more }));
  };

  it.each<[string, string[], string[]]>([
    ['is recent for three intervals', lastTick(state, 180), passed],
    ['is late after that', lastTick(state, 181), late('3 min', 'three intervals (180 s)')],
    ['is recent for three long intervals', lastTick(state, 600, { intervalS: 200 }), passed],
    ['is late after those', lastTick(state, 601, { intervalS: 200 }), late('10 min', 'three intervals (600 s)')],
    ['is recent on a laptop for a day', lastTick(state, 86_400, { laptop: true }), passed],
    ['is late on a laptop after that', lastTick(state, 86_401, { laptop: true }), late('24 h', '24 hours')],
    ['is late on a laptop after its alarm', lastTick(state, 10_000, { laptop: true, alarmS: 9999 }), alarmed],
    ['is late before the alarm', lastTick(state, 1000, { alarmS: 1000 }), late('16 min', 'three intervals (180 s)')],
    ['is dated after now', lastTick(state, -3600), ofFuture],
    ['has not happened before the first tick', lastTick(null, 0), none],
    ['has not happened while every tick was offline', lastTick(emptyState('eu-1'), 0), none],
  ])('%s', (_name, lines, expected) => {
    expect(lines).toEqual(expected);
  });

  it('is not seen without access to the state', () => {
    const context = {
      now: new Date(0),
      agent: { name: 'deployd', uid: 900, gids: [] },
      state: { unknown: 'use sudo' },
    };
    expect(checkLines(checkLastTick(context, limits))).toEqual(['ticks: unknown', 'use sudo']);
  });
});
