import { formatRefusal } from '../../../machines/refusals.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { validateReferences } from './references.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

/** The refusal of a bundle with these compose files; null without one. */
function refusalOf(texts: string[], profiles: string[] = [], compose = texts.map((_, index) => `${index}.yaml`)) {
  const files = texts.flatMap((text, index) => {
    const parsed = parseComposeFile(`${index}.yaml`, text);
    return 'file' in parsed ? [parsed.file] : [];
  });
  expect(files).toHaveLength(texts.length);
  const refusal = validateReferences(composeProjectOf(files, profiles), { compose });
  expect(refusal?.code ?? 'COMPOSE_REFUSED').toBe('COMPOSE_REFUSED');
  return refusal && formatRefusal(refusal);
}

const web = (line: string) => `services: {web: {image: x, ${line}}, db: {image: x}}`;

describe('a service that names a service which the bundle does not have', () => {
  const cure = 'which is not a service of the bundle: add that service, or name another one';

  it.each([
    ['depends_on', 'depends_on: [no]'],
    ['depends_on', 'depends_on: {no: {condition: service_started, required: false}}'],
    ['links', 'links: ["no:x"]'],
    ['volumes_from', 'volumes_from: ["no:ro"]'],
    ['network_mode', 'network_mode: "service:no"'],
    ['ipc', 'ipc: "service:no"'],
    ['pid', 'pid: "service:no"'],
  ])('is refused: %s in %s', (key, line) => {
    expect(refusalOf([web(line)])).toBe(`service web: ${key} no, ${cure}`);
    expect(refusalOf([web(line), 'services: {no: {image: x}}'])).toBeNull();
  });
});

describe('a service that names a part of the project which the bundle does not have', () => {
  it.each([
    ['networks', 'networks: [no, default]'],
    ['networks', 'networks: {no: {}, default: {}}'],
    ['networks', 'networks: {no: }'],
    ['volumes', 'volumes: ["no:/x"]'],
    ['volumes', 'volumes: [{type: volume, source: no, target: /x}]'],
    ['volumes', 'volumes: [{type: volume, source: no, target: /x}, "no:/y:ro"]'],
    ['configs', 'configs: [no]'],
    ['secrets', 'secrets: [{source: no, target: x}]'],
  ])('is refused: %s in %s', (section, line) => {
    const told = `service web: ${section} no, which is not under the top-level ${section}: write no under the top-level ${section}`;
    expect(refusalOf([web(line)])).toBe(told);
    expect(refusalOf([web(line), `${section}: {no: }`])).toBeNull();
  });

  it('is refused by its whole name', () => {
    expect(refusalOf([web('volumes: ["no_such.one-1:/x"]')])).toContain('service web: volumes no_such.one-1, which');
  });

  it.each([
    'volumes: ["./no:/x", "/no:/x", "~/no:/x", "/anonymous", "../no:/x", ".:/x"]',
    'volumes: [{type: volume, target: /x}, {type: bind, source: no, target: /x}, {type: tmpfs, target: /y}]',
    'volumes: ["${A}:/x", {type: volume, source: /no, target: /x}]',
    'volumes_from: ["${A}"]',
    'networks: ["n/o"]',
    'networks: [default]',
    'network_mode: host',
    'external_links: [no]',
    'volumes_from: ["container:no"]',
  ])('is not refused for %s', (line) => {
    expect(refusalOf([web(line)])).toBeNull();
  });
});

it('services that depend on each other in a circle are refused', () => {
  const told = 'services depend on each other in a circle: web, db, web: leave one of these dependencies out';
  const circle = 'services: {web: {image: x, depends_on: [db]}, db: {image: x, links: [web]}}';
  expect(refusalOf([circle])).toBe(told);
  expect(refusalOf([web('depends_on: [db]')])).toBeNull();
});

it.each(['network_mode', 'ipc', 'pid'])('only the %s counts that takes effect', (key) => {
  const [joined, own] = [`${key}: "service:db"`, `${key}: host`];
  const back = `services: {db: {${key}: "service:web"}}`;
  expect(refusalOf([web(joined), back])).toContain('circle: web, db, web');
  expect(refusalOf([web(joined), back, `services: {web: {${own}}}`])).toBeNull();
  expect(refusalOf([web(`${key}: "service:no"`), `services: {web: {${own}}}`])).toBeNull();
  expect(refusalOf([`services: {db: {image: x, ${joined}}, web: {extends: db}}`])).toContain('circle: db, db');
  expect(refusalOf([`services: {web: {image: x, ${key}: "service:db"}, db: {extends: web, ${own}}}`])).toBeNull();
});

it('lists of services in several files are merged', () => {
  expect(refusalOf([web('links: [no]'), 'services: {web: {links: [db]}}'])).toContain('service web: links no');
});

it('of a service that does not run nothing is said', () => {
  const tool = 'tool: {image: x, profiles: [p], depends_on: [no, tool], networks: [no]}';
  expect(refusalOf([`services: {web: {image: x}, ${tool}}`])).toBeNull();
  expect(refusalOf([`services: {web: {image: x}, ${tool}}`], ['p'])).toMatch(
    /depends_on no, .*networks no, .*circle: tool, tool/,
  );
});

it('nothing is said when a compose file could not be read', () => {
  expect(refusalOf([web('depends_on: [no]')], [], ['0.yaml', '1.yaml'])).toBeNull();
});
