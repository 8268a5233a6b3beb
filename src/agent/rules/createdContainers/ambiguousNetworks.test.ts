import { ambiguousNetworks } from './ambiguousNetworks.ts';

const network = (id: string, name: string, project: string | null = null) => ({ id, name, project });
const own = 'deployd-eu-1';

it.each([
  ['none of names of their own', [network('1', `${own}_default`, own), network('2', 'bridge')], []],
  [
    'one by its label, and another one without',
    [network('1', 'front', own), network('2', 'front')],
    [{ name: 'front', ids: ['1', '2'] }],
  ],
  [
    'those by the name of the project',
    [network('1', `${own}_b`), network('2', `${own}_b`), network('3', `${own}_a`, own), network('4', `${own}_a`, own)],
    [
      { name: `${own}_a`, ids: ['3', '4'] },
      { name: `${own}_b`, ids: ['1', '2'] },
    ],
  ],
  ['none of other projects', [network('1', 'x_default', 'x'), network('2', 'x_default', 'x')], []],
])('ambiguous are %s', (_, networks, expected) => {
  expect(ambiguousNetworks(networks, own)).toEqual(expected);
});
