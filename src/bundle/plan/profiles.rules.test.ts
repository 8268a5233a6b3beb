import { formatRefusal } from '../../../machines/refusals.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { validateProfiles } from './references.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

/** The refusal of a bundle with one compose file; null without one. */
function refusalOf(services: string, profiles: string[] = [], compose = ['compose.yaml']): string | null {
  const parsed = parseComposeFile('compose.yaml', `services: {${services}}`);
  const refusal = validateProfiles(composeProjectOf('file' in parsed ? [parsed.file] : [], profiles), { compose });
  expect(refusal?.code ?? 'COMPOSE_REFUSED').toBe('COMPOSE_REFUSED');
  return refusal && formatRefusal(refusal);
}

const db = 'db: {image: x, profiles: [p, q]}';

describe('the chosen profiles', () => {
  it.each<[string, string, string[], string | null]>([
    ['none', 'web: {image: x}', [], null],
    ['one that a service has', `web: {image: x}, ${db}`, ['q'], null],
    [
      'one that no service has',
      `web: {image: x}, ${db}`,
      ['q', 'debgu'],
      'profiles names debgu, which no service has: leave it out, or name one of p, q',
    ],
    [
      'one where no service has any',
      'web: {image: x}',
      ['\u001b[2J'],
      'profiles names \ufffd[2J, which no service has: leave it out',
    ],
    [
      'none where each service has one',
      db,
      [],
      'no service runs: each has a profile, and none of these is chosen: name one in profiles of manifest.json: p, q',
    ],
    ['nothing where there is no service', '', [], null],
  ])('%s', (_title, services, profiles, told) => {
    expect(refusalOf(services, profiles)).toBe(told);
  });

  it('are not checked when a compose file could not be read', () => {
    expect(refusalOf('web: {image: x}', ['p'], ['compose.yaml', 'more.yaml'])).toBeNull();
  });

  it('are ten of the names in a cure, however many there are', () => {
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
    const toldOf = (count: number) => refusalOf(`web: {image: x, profiles: [${names.slice(0, count).join(', ')}]}`);
    expect(toldOf(12)).toMatch(/: p0, .*, p9, …$/);
    expect(toldOf(10)).toMatch(/: p0, .*, p9$/);
  });
});

describe('a service that depends on one that does not run', () => {
  const cure =
    'which does not run: none of its profiles is chosen: name one of them in profiles of manifest.json: p, q';

  it.each([
    ['depends_on', 'depends_on: [db]'],
    ['depends_on', 'depends_on: {db: {condition: service_healthy}}'],
    ['depends_on', 'depends_on: {db: {condition: service_healthy, required: true}}'],
    ['links', 'links: ["db:database"]'],
    ['volumes_from', 'volumes_from: ["db:ro"]'],
    ['network_mode', 'network_mode: service:db'],
    ['ipc', 'ipc: service:db'],
    ['pid', 'pid: service:db'],
  ])('is refused: %s of %s', (key, line) => {
    expect(refusalOf(`web: {image: x, ${line}}, ${db}`)).toBe(`service web: ${key} db, ${cure}`);
    expect(refusalOf(`web: {image: x, ${line}}, ${db}`, ['p'])).toBeNull();
  });

  it.each([
    ['says that it can do without', `web: {image: x, depends_on: {db: {required: false}}}, ${db}`],
    ['names a container outside the project', 'web: {image: x, volumes_from: ["container:db"]}, container: {image: x}'],
    ['does not run itself', `web: {image: x}, tool: {image: x, profiles: [r], depends_on: [db]}, ${db}`],
    ['depends on what is no service at all', 'web: {image: x, depends_on: [nothing]}'],
  ])('is not refused for it when it %s', (_title, services) => {
    expect(refusalOf(services)).toBeNull();
  });
});
