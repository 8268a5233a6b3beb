import { resultOf, type ProjectFiles } from '../../../../fixtures/import/importing.ts';

interface Expected {
  /** The volume `v` of the result. */
  v: object;
  changes?: RegExp[];
  undecided?: RegExp[];
}

const bindOf = (device: string) => ({ driver: 'local', driver_opts: { type: 'none', o: 'bind', device } });

it.each<[string, object, ProjectFiles, Expected]>([
  ['a directory of the host stays', bindOf('/srv/x'), {}, { v: bindOf('/srv/x') }],
  [
    'one of the plugin local-persist is a directory of the host',
    { driver: 'local-persist', driver_opts: { mountpoint: '/srv/x' } },
    {},
    { v: bindOf('/srv/x'), changes: [/volume v: driver: local-persist is a bind of \/srv\/x now/] },
  ],
  [
    'a directory of the project is a volume of the engine',
    bindOf('${PWD}/data'),
    { 'data/ibdata1': 'x' },
    { v: {}, changes: [/^volume v: driver_opts: \.\/data is a volume of the engine now$/] },
  ],
  ['one in a home too', bindOf('~/data'), {}, { v: {}, changes: [/~\/data is a volume/] }],
  ['one that no host can see too', bindOf('/tmp/x'), {}, { v: {}, changes: [/\/tmp\/x is a volume/] }],
  [
    'configuration of the project is left open',
    bindOf('conf'),
    { 'conf/a.yml': 'x' },
    { v: bindOf('conf'), undecided: [/conf holds configuration → mount it by its path instead/] },
  ],
])('%s', (_title, volume, more, { v, changes = [], undecided = [] }) => {
  const compose = `services: {a: {image: x, volumes: ["v:/v"]}}\nvolumes: {v: ${JSON.stringify(volume)}}\n`;
  const found = resultOf({ 'compose.yaml': compose, ...more });
  expect(found.top).toEqual({ volumes: { v } });
  for (const pattern of changes) expect(found.changes).toContainEqual(expect.stringMatching(pattern));
  expect(found.undecided).toEqual(undecided.map((pattern) => expect.stringMatching(pattern) as string));
});
