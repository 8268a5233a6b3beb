import { ambiguousNetworks, resourceUserOf, resourceUserOfListEntry } from './resources.rules.ts';

const project = 'deployd-eu-1';
const Labels = { 'com.docker.compose.project': project };
const Mounts = [{ Source: '/srv/data' }, { Source: '', Name: 'deployd-eu-1_cache' }];
const NetworkSettings = { Networks: { bridge: {}, 'deployd-eu-1_default': {} } };
const entry = { Id: 'c1', Names: ['/web'], Labels, Image: 'web:1', ImageID: 'sha256:1', Mounts, NetworkSettings };

const user = {
  ...{ id: 'c1', name: 'web', project, image: 'web:1', imageId: 'sha256:1' },
  ...{ mounts: ['/srv/data'], volumes: ['deployd-eu-1_cache'], networks: ['bridge', 'deployd-eu-1_default'] },
};
const bare = { ...user, mounts: [], volumes: [], networks: [] };

describe('the resources of a container', () => {
  it('are the same in its list entry and its inspection', () => {
    expect(resourceUserOfListEntry(entry)).toStrictEqual(user);
    const inspected = { Id: 'c1', Name: '/web', Image: 'sha256:1', Config: { Image: 'web:1', Labels } };
    expect(resourceUserOf({ ...inspected, Mounts, NetworkSettings })).toStrictEqual(user);
    expect(resourceUserOf({ ...inspected, Mounts: [] })).toStrictEqual(bare);
  });

  it.each<[string, object, object]>([
    ['with its own name, not that of a link to it', { Names: ['/db/alias', '/web'] }, user],
    ['with its id in place of a missing name', { Names: null }, { ...user, name: 'c1' }],
    ['without a project', { Labels: null }, { ...user, project: null }],
    ['with another label only', { Labels: { a: 'b' } }, { ...user, project: null }],
    ['without mounts and networks', { Mounts: null, NetworkSettings: null }, bare],
    ['without a list of networks', { NetworkSettings: { Networks: null } }, { ...user, networks: [] }],
  ])('%s', (_name, more, expected) => {
    expect(resourceUserOfListEntry({ ...entry, ...more })).toStrictEqual(expected);
  });
});

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
