import { parseComposeFile } from './composeFile.ts';
import { serviceDependenciesOf } from './serviceDependencies.ts';

/** Dependencies of a service with these texts as its layers, as `key name`, with `?` if it may be missing. */
function dependenciesOf(...layers: string[]): string[] {
  const read = layers.map((text) => parseComposeFile('compose.yaml', text));
  const roots = read.flatMap((one) => ('file' in one ? one.file.root : []));
  return serviceDependenciesOf(roots).map(({ key, name, required }) => `${key} ${name}${required ? '' : '?'}`);
}

it.each<[string, ...string[]]>([
  ['depends_on: [db, cache]', 'depends_on db', 'depends_on cache'],
  ['depends_on: {db: {condition: service_started}}', 'depends_on db'],
  ['depends_on: {db: {required: false}, b: {required: False}}', 'depends_on db?', 'depends_on b?'],
  [
    'depends_on: {db: {required: true}, b: {required: "falsey"}, c: {required: "no false"}}',
    ...['db', 'b', 'c'].map((name) => `depends_on ${name}`),
  ],
  ['links: ["db:database", cache, db]', 'links db', 'links cache'],
  ['volumes_from: ["db:ro", "container:other"]', 'volumes_from db'],
  ['network_mode: service:db', 'network_mode db'],
  ['network_mode: "not service:db"'],
  ['ipc: service:db\npid: service:cache', 'ipc db', 'pid cache'],
  ['ipc: "no service:db"\npid: "no service:db"'],
  ['links: [":db"]'],
  ['image: app'],
])('of %j are named', (text, ...names) => {
  expect(dependenciesOf(text)).toEqual(names);
});

it('of several layers are those of all lists, and of the last text', () => {
  expect(dependenciesOf('links: [a]', 'links: [b]')).toEqual(['links a', 'links b']);
  expect(dependenciesOf('pid: service:a', 'pid: service:b', 'image: app')).toEqual(['pid b']);
  expect(dependenciesOf('depends_on: [a]', 'depends_on: {a: {required: false}}')).toEqual(['depends_on a?']);
});
