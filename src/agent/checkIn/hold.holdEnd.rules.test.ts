import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { holdEndOf } from './hold.rules.ts';

const now = new Date('2026-11-26T12:00:00.000Z');

it.each([
  [undefined, '2026-11-27T12:00:00.000Z'],
  ['90m', '2026-11-26T13:30:00.000Z'],
  ['12h', '2026-11-27T00:00:00.000Z'],
  ['7d', '2026-12-03T12:00:00.000Z'],
  ['2026-11-27T08:00Z', '2026-11-27T08:00:00.000Z'],
  ['2026-11-27 08:00+01:00', '2026-11-27T07:00:00.000Z'],
  ['2026-11-27T08:00:30.5Z', '2026-11-27T08:00:30.500Z'],
])('--until %s ends at %s', (text, end) => {
  expect(holdEndOf(text, now)).toEqual({ end: new Date(end) });
});

it.each([
  ['8d', 'is more than 7 days away, the longest that a hold lasts'],
  ['169h', 'is more than 7 days away, the longest that a hold lasts'],
  ['2026-11-26T12:00Z', 'is over since 2026-11-26T12:00:00.000Z'],
  ['2016-11-26T12:00Z', 'is over since 2016-11-26T12:00:00.000Z'],
  ...[
    '',
    '0h',
    '1w',
    '1.5h',
    '24:00',
    'tomorrow',
    '2026-11-27',
    '2026-02-28T25:00Z',
    '2026-11-31T08:00Z',
    '2026-13-01T08:00Z',
  ].map((text) => [text, 'must be like 90m, 12h, 3d, 18:30, 2026-11-27T08:00 or 2026-11-27T08:00Z']),
])('--until %s %s', (text, fault) => {
  expect(holdEndOf(text, now)).toEqual({ fault });
});

/** The end times in a time zone, which a process reads from its environment variables. */
function endsIn(zone: string, cases: readonly (readonly [text: string, from: string])[]): unknown {
  const script = `import { holdEndOf } from ${JSON.stringify(join(import.meta.dirname, 'hold.rules.ts'))};
    console.log(JSON.stringify(${JSON.stringify(cases)}.map(([text, from]) => holdEndOf(text, new Date(from)).end)));`;
  const args = ['--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, TZ: zone } }));
}

it('interprets a time of day by the clock of the host, also across both daylight saving changes', () => {
  expect(
    endsIn('Europe/Berlin', [
      ['18:30', '2026-11-26T12:00:00Z'],
      ['08:00', '2026-11-26T12:00:00Z'],
      ['08:00', '2026-03-28T20:00:00Z'],
      ['08:00', '2026-10-24T20:00:00Z'],
      ['2026-11-27T08:00', '2026-11-26T12:00:00Z'],
    ]),
  ).toEqual([
    '2026-11-26T17:30:00.000Z',
    '2026-11-27T07:00:00.000Z',
    '2026-03-29T06:00:00.000Z',
    '2026-10-25T07:00:00.000Z',
    '2026-11-27T07:00:00.000Z',
  ]);
});
