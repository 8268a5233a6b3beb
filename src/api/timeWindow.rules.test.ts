import { isOpen, isTimeZone, nextOpening, type TimeWindow } from './timeWindow.rules.ts';

const workdays: TimeWindow['days'] = ['mon', 'tue', 'wed', 'thu', 'fri'];
const berlin: TimeWindow = { days: workdays, start: '08:30', minutes: 90, time_zone: 'Europe/Berlin' };
/** Opens on Saturday and is still open on Sunday. */
const night: TimeWindow = { days: ['sat'], start: '23:00', minutes: 240, time_zone: 'America/New_York' };
/** In the hour that is left out in spring, and comes twice in autumn. */
const shift: TimeWindow = { days: ['sun'], start: '02:30', minutes: 30, time_zone: 'Europe/Berlin' };

const at = (time: string) => Date.parse(time);

it.each<[what: string, window: TimeWindow, from: string, to: string]>([
  ['in winter', berlin, '2026-11-26T07:30:00Z', '2026-11-26T09:00:00Z'],
  ['in summer', berlin, '2026-07-01T06:30:00Z', '2026-07-01T08:00:00Z'],
  ['over midnight', night, '2026-11-29T04:00:00Z', '2026-11-29T08:00:00Z'],
  ['where its time of day is left out', shift, '2026-03-29T01:30:00Z', '2026-03-29T02:00:00Z'],
  ['where its time of day comes twice', shift, '2026-10-25T00:30:00Z', '2026-10-25T01:00:00Z'],
  [
    'over a day without an hour',
    { ...berlin, days: ['sat'], start: '23:30', minutes: 1440 },
    '2026-03-28T22:30:00Z',
    '2026-03-29T22:30:00Z',
  ],
  [
    'all day',
    { ...berlin, days: ['thu'], start: '00:00', minutes: 1440 },
    '2026-11-25T23:00:00Z',
    '2026-11-26T23:00:00Z',
  ],
])('is open %s', (_, window, from, to) => {
  const moments = [at(from) - 1, at(from), at(to) - 1, at(to)];
  expect(moments.map((moment) => isOpen([window], moment))).toEqual([false, true, true, false]);
});

it.each<[now: string, windows: TimeWindow[], next: string]>([
  ['2026-11-26T07:29:00Z', [berlin], '2026-11-26T07:30:00Z'],
  ['2026-11-26T07:31:00Z', [berlin], '2026-11-26T07:31:00Z'],
  ['2026-11-26T09:00:00Z', [berlin], '2026-11-27T07:30:00Z'],
  ['2026-11-27T09:00:00Z', [berlin], '2026-11-30T07:30:00Z'],
  ['2026-11-27T09:00:00Z', [berlin, night], '2026-11-29T04:00:00Z'],
  ['2026-11-29T08:00:00Z', [night], '2026-12-06T04:00:00Z'],
  ['2026-10-25T01:10:00Z', [shift], '2026-11-01T01:30:00Z'],
  ['2026-11-26T09:00:00Z', [], '2026-11-26T09:00:00Z'],
])('at %s it opens next', (now, windows, next) => {
  expect(new Date(nextOpening(windows, at(now))).toISOString()).toBe(new Date(next).toISOString());
});

it('is open at any time without windows, and while one of several is', () => {
  const now = at('2026-11-26T08:00:00Z');
  expect([[], [berlin], [night], [night, berlin]].map((windows) => isOpen(windows, now))).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

it('knows the names of time zones', () => {
  expect(['Europe/Berlin', 'UTC', 'Europe/Atlantis', ''].map(isTimeZone)).toEqual([true, true, false, false]);
});

it('makes one clock for a window, however often it looks at it', () => {
  const { DateTimeFormat } = Intl;
  let made = 0;
  Intl.DateTimeFormat = new Proxy(DateTimeFormat, {
    construct: (target, args: ConstructorParameters<typeof DateTimeFormat>) => {
      made++;
      return new target(...args);
    },
  });
  try {
    isOpen([{ days: ['mon'], start: '08:00', minutes: 60, time_zone: 'Europe/Berlin' }], 0);
    expect(made).toBe(1);
  } finally {
    Intl.DateTimeFormat = DateTimeFormat;
  }
});
