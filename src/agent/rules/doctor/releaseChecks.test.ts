import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { emptyState } from '../state/state.ts';
import type { CheckContext } from './checkContext.ts';
import { checkReleases, checkState, type ReleasesFacts } from './releaseChecks.ts';

const facts: ReleasesFacts = {
  ...{ envDir: '/s/eu-1', count: 4, keep: 3, orphanedPaths: [] },
  ...{ foreignCurrent: null, otherCurrent: null, incomplete: false },
};

it.each<[string, Partial<ReleasesFacts>, string[]]>([
  ['pass with one more than are kept', {}, ['releases: passed', '4 in /s/eu-1/releases']],
  [
    'fail with every finding at once',
    {
      count: 5,
      foreignCurrent: 'current is a directory',
      otherCurrent: 'nothing',
      incomplete: true,
      orphanedPaths: ['/s/x', '/s/y'],
    },
    [
      ...['releases: failed', '5 in /s/eu-1/releases'],
      ...['current is a directory', 'sudo mv /s/eu-1/current /s/eu-1/current.foreign'],
      ...['current points to nothing in place of the applied release', 'sudo deployd run --once'],
      ...['the applied release is not whole: the next tick applies it anew', 'sudo deployd run --once'],
      ...['5 releases lie there, 3 are kept', 'sudo deployd run --once --prune'],
      ...['/s/x was left behind', 'sudo rm -rf /s/x', '/s/y was left behind', 'sudo rm -rf /s/y'],
    ],
  ],
])('the releases %s', (_name, more, lines) => {
  expect(checkLines(checkReleases({ known: { ...facts, ...more } }))).toEqual(lines);
});

it('the releases are not seen when they cannot be read', () => {
  expect(checkLines(checkReleases({ unknown: 'use sudo' }))).toEqual(['releases: unknown', 'use sudo']);
});

const broken = { problem: 'STATE_CORRUPT: x', fix: 'sudo deployd run --once' };

it.each<[string, CheckContext['state'], Parameters<typeof checkState>[1], string[]]>([
  ['passes', { known: emptyState('eu-1') }, { env: 'eu-1', broken: null }, ['state: passed', 'state.json']],
  [
    'passes while the configuration names no env',
    { known: emptyState('eu-1') },
    { env: null, broken: null },
    ['state: passed', 'state.json'],
  ],
  [
    'passes before the first tick',
    { known: null },
    { env: 'eu-1', broken: null },
    ['state: passed', 'no tick has been made yet'],
  ],
  ['is not seen', { unknown: 'use sudo' }, { env: 'eu-1', broken: null }, ['state: unknown', 'use sudo']],
  [
    'is invalid',
    { unknown: 'STATE_CORRUPT: x' },
    { env: 'eu-1', broken },
    ['state: failed', 'state.json', broken.problem, broken.fix],
  ],
  [
    'belongs to another env',
    { known: emptyState('eu-1') },
    { env: 'eu-2', broken: null },
    [
      ...['state: failed', 'state.json'],
      'state.json belongs to env eu-1, config.yaml says eu-2; the next tick keeps it beside',
      'sudo deployd run --once',
    ],
  ],
])('the state %s', (_name, state, input, lines) => {
  const context = { now: new Date(0), agent: { name: 'deployd', uid: 900, gids: [] }, state };
  expect(checkLines(checkState(context, input))).toEqual(lines);
});
