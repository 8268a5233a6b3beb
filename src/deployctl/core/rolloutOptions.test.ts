import { numberOption, waveOption, windowOption } from './input.ts';

it.each([
  ['5', { count: 5 }],
  ['10%', { percent: 10 }],
  ['all', {}],
  ['all:ring=canary', { labels: { ring: 'canary' } }],
  ['2:ring=canary,disk=ssd', { count: 2, labels: { ring: 'canary', disk: 'ssd' } }],
])('reads the wave %s', (text, wave) => {
  expect(waveOption(text)).toEqual([wave]);
});

it('collects waves and windows in their order', () => {
  expect(waveOption('10%', waveOption('1'))).toEqual([{ count: 1 }, { percent: 10 }]);
  const both = windowOption('sun 00:00+5 UTC', windowOption('sat 00:00+5 UTC'));
  expect(both.map(({ days }) => days)).toEqual([['sat'], ['sun']]);
});

it.each(['0', '-1', '1.5', '%', '10 %', 'some', '', '1:', '1:ring', '1:=x', '1:a=b=c', '1:a=b,a=c', '101%'])(
  'refuses the wave %j',
  (text) => {
    expect(() => waveOption(text)).toThrow(/^It must be/);
  },
);

it('accepts all labels of a wave, so that the service can refuse invalid ones', () => {
  expect(waveOption('1:ring=a:b')).toEqual([{ count: 1, labels: { ring: 'a:b' } }]);
});

it.each([
  ['mon-fri 08:30+90 Europe/Berlin', ['mon', 'tue', 'wed', 'thu', 'fri'], '08:30', 90, 'Europe/Berlin'],
  ['sat,sun 23:00+240 UTC', ['sat', 'sun'], '23:00', 240, 'UTC'],
  ['sat-sun,sun 23:00+240 UTC', ['sat', 'sun'], '23:00', 240, 'UTC'],
  ['mon-tue,sun 00:00+1440 UTC', ['mon', 'tue', 'sun'], '00:00', 1440, 'UTC'],
])('reads the window %s', (text, days, start, minutes, time_zone) => {
  expect(windowOption(text)).toEqual([{ days, start, minutes, time_zone }]);
});

it.each([
  '',
  'mon 08:30+90',
  'mon 8:30+90 UTC',
  'mon 08:30 UTC',
  'mon 24:00+90 UTC',
  'day 08:30+90 UTC',
  'mon,day 08:30+90 UTC',
  'mon, 08:30+90 UTC',
  'fri-mon 08:30+90 UTC',
  'mon-tue-wed 08:30+90 UTC',
])('refuses the window %j', (text) => {
  expect(() => windowOption(text)).toThrow(/^It must be like/);
});

it('reads numbers from 0 on', () => {
  expect(['0', '12'].map((text) => numberOption(text))).toEqual([0, 12]);
  for (const text of ['', '-1', '01', '1e3']) expect(() => numberOption(text)).toThrow(/0 or more/);
});
