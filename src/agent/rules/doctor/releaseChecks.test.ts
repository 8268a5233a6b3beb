import { emptyState } from '../state/state.ts';
import type { Check, CheckContext } from './diagnosis.ts';
import { checkReleases, checkState, type ReleasesFacts } from './releaseChecks.ts';

const linesOf = ({ name, verdict, told, findings }: Check) => [
  `${name}: ${verdict}`,
  told,
  ...findings.flatMap(({ what, fix }) => [what, fix]),
];

const facts: ReleasesFacts = {
  ...{ envDir: '/s/eu-1', count: 4, keep: 3, foreignCurrent: null, incomplete: false, orphanedPaths: [] },
};

it.each<[string, Partial<ReleasesFacts>, string[]]>([
  ['are well with one more than are kept', {}, ['releases: well', '4 in /s/eu-1/releases']],
  [
    'are not well with every finding at once',
    { count: 5, foreignCurrent: 'current is a directory', incomplete: true, orphanedPaths: ['/s/x', '/s/y'] },
    [
      ...['releases: wrong', '5 in /s/eu-1/releases'],
      ...['current is a directory', 'sudo mv /s/eu-1/current /s/eu-1/current.foreign'],
      ...['the applied release is not whole: the next tick applies it anew', 'sudo deployd run --once'],
      ...['5 releases lie there, 3 are kept', 'sudo deployd run --once --prune'],
      ...['/s/x was left behind', 'sudo rm -rf /s/x', '/s/y was left behind', 'sudo rm -rf /s/y'],
    ],
  ],
])('the releases %s', (_name, more, lines) => {
  expect(linesOf(checkReleases({ known: { ...facts, ...more } }))).toEqual(lines);
});

it('the releases are not seen when they cannot be read', () => {
  expect(linesOf(checkReleases({ unknown: 'use sudo' }))).toEqual(['releases: unseen', 'use sudo']);
});

const broken = { what: 'STATE_CORRUPT: x', fix: 'sudo deployd run --once' };

it.each<[string, CheckContext['state'], Parameters<typeof checkState>[1], string[]]>([
  ['is well', { known: emptyState('eu-1') }, { env: 'eu-1', broken: null }, ['state: well', 'state.json']],
  [
    'is well while the configuration names no env',
    { known: emptyState('eu-1') },
    { env: null, broken: null },
    ['state: well', 'state.json'],
  ],
  [
    'is well before the first tick',
    { known: null },
    { env: 'eu-1', broken: null },
    ['state: well', 'no tick has been made yet'],
  ],
  ['is not seen', { unknown: 'use sudo' }, { env: 'eu-1', broken: null }, ['state: unseen', 'use sudo']],
  [
    'is invalid',
    { unknown: 'STATE_CORRUPT: x' },
    { env: 'eu-1', broken },
    ['state: wrong', 'state.json', broken.what, broken.fix],
  ],
  [
    'belongs to another env',
    { known: emptyState('eu-1') },
    { env: 'eu-2', broken: null },
    [
      ...['state: wrong', 'state.json'],
      'state.json belongs to env eu-1, config.yaml says eu-2; the next tick keeps it beside',
      'sudo deployd run --once',
    ],
  ],
])('the state %s', (_name, state, input, lines) => {
  const context = { now: new Date(0), agent: { name: 'deployd', uid: 900, gids: [] }, state };
  expect(linesOf(checkState(context, input))).toEqual(lines);
});
