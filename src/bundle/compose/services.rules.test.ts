import { parseComposeFile } from './composeFile.rules.ts';
import { activeServices, serviceDependenciesOf, serviceLayers, visitGraph } from './services.rules.ts';

it.each<[string, string[], string]>([
  ['without a choice those without a profile run', [], 'a e'],
  ['one of several profiles is enough, also of a base', ['q'], 'a b d e'],
  ['the profiles of all files count', ['r'], 'a b d e'],
  ['a profile of its own does not make a base run', ['t'], 'a d e'],
  ['a profile has no patterns, and case matters', ['*', 'P'], 'a e'],
])('%s', (_title, chosen, running) => {
  const texts = [
    'services: {a: {}, b: {profiles: [p, ~, q]}, c: {profiles: [s]}, d: {extends: b, profiles: [t]}, e: {profiles: []}}',
    'services: {b: {profiles: [r]}, d: {profiles: [r]}}',
  ];
  const files = texts.flatMap((text) => {
    const parsed = parseComposeFile('compose.yaml', text);
    return 'file' in parsed ? [parsed.file] : [];
  });
  expect([...activeServices(serviceLayers(files), chosen).keys()].join(' ')).toBe(running);
});

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

it('of several layers include all lists, and the last text', () => {
  expect(dependenciesOf('links: [a]', 'links: [b]')).toEqual(['links a', 'links b']);
  expect(dependenciesOf('pid: service:a', 'pid: service:b', 'image: app')).toEqual(['pid b']);
  expect(dependenciesOf('depends_on: [a]', 'depends_on: {a: {required: false}}')).toEqual(['depends_on a?']);
});

const many = Array.from({ length: 10_000 }, (_, n) => n);
/** Each name leads to the next one, and the last one to `end`. */
const longChain = (end: number | null) =>
  Object.fromEntries(many.map((n) => [`${n}`, n < 9_999 ? [`${n + 1}`] : end === null ? [] : [`${end}`]]));

it.each<[string, Record<string, string[]>, string[] | null]>([
  ['nothing', {}, null],
  ['names that lead nowhere', { a: ['x'], b: [] }, null],
  ['two ways to one name', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, null],
  ['a name that leads to itself', { a: ['a'] }, ['a', 'a']],
  ['a circle behind a way that ends', { a: ['b', 'c'], b: [], c: ['d'], d: ['c'] }, ['c', 'd', 'c']],
  ['a long one', { a: ['b'], b: ['c'], c: ['a'] }, ['a', 'b', 'c', 'a']],
  [
    'as many ways as none could follow',
    Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`${n}`, [`${n + 1}`, `${n + 1}`]])),
    null,
  ],
  ['a chain of ten thousand names', longChain(null), null],
  ['a chain of ten thousand names that closes', longChain(0), [...many.map((n) => `${n}`), '0']],
])('the circle in %s', (_title, graph, circle) => {
  expect(visitGraph(new Map(Object.entries(graph))).circle).toEqual(circle);
});
