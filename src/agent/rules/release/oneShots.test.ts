import type { InspectedContainer } from '../health/health.ts';
import {
  serviceDefinitionsOf,
  finishedOneShots,
  unchangedOneShots,
  type OneShot,
  type ServiceFingerprint,
} from './oneShots.ts';

const oneShot: OneShot = { service: 'migrate', fingerprint: 'f', image: 'sha256:1', volumes: ['p_data'] };
const fingerprints = new Map<string, ServiceFingerprint>([
  ['migrate', { fingerprint: 'f', image: 'app:1', volumes: ['p_data'] }],
]);
const finished = {
  service: 'migrate',
  state: 'exited',
  exitCode: 0,
  health: null,
  restartPolicy: 'no',
  imageId: 'sha256:1',
  startedMs: 10,
} as Partial<InspectedContainer> as InspectedContainer;

const service = { image: 'app:1', volumes: [{ type: 'bind', source: '/s/a/run.sh' }], command: ['run'] };
const textOf = (changes: object, dir = '/s/a') =>
  serviceDefinitionsOf({ services: { migrate: { ...service, ...changes } } }, dir).get('migrate')?.text;

it.each<[string, object]>([
  ['dependencies', { depends_on: { db: { condition: 'service_started' } } }],
  ['pull policy', { pull_policy: 'always' }],
])('a one-shot is the same with other %s', (_, changes) => {
  expect(textOf(changes)).toBe(textOf({}));
});

it('a one-shot is the same in another release directory', () => {
  const moved = { volumes: [{ type: 'bind', source: '/s/b/run.sh' }] };
  expect(textOf(moved, '/s/b')).toBe(textOf({}));
});

it.each<[string, object]>([
  ['image', { image: 'app:2' }],
  ['command', { command: ['other'] }],
  ['environment', { environment: { A: '1' } }],
])('a one-shot differs with another %s', (_, changes) => {
  expect(textOf(changes)).not.toBe(textOf({}));
});

it('names volumes as the engine does', () => {
  const mounts = { volumes: [{ type: 'volume', source: 'data' }, { type: 'volume' }] };
  const model = { services: { migrate: { ...service, ...mounts } }, volumes: { data: { name: 'p_data' } } };
  expect(serviceDefinitionsOf(model, '/s/a').get('migrate')?.volumes).toEqual(['p_data']);
});

it('includes the volumes of `volumes_from`, transitively', () => {
  const mounting = (source: string, volumes_from?: string[]) => ({
    volumes: [{ type: 'volume', source }],
    volumes_from,
  });
  const services = {
    migrate: { ...mounting('own', ['db:ro', 'container:other']) },
    db: mounting('data', ['store']),
    store: mounting('data', ['db', 'disk:rw']),
    disk: mounting('disk'),
    other: mounting('other'),
  };
  const volumes = { data: { name: 'moved' } };
  expect(serviceDefinitionsOf({ services, volumes }, '/s/a').get('migrate')?.volumes).toEqual(['own', 'moved', 'disk']);
});

it.each<[string, Partial<OneShot>[], number]>([
  ['unchanged', [{}], 1],
  ['unchanged twice', [{}, {}], 1],
  ['changed', [{ fingerprint: 'other' }], 0],
  ['with a volume of another name', [{ volumes: ['q_data'] }], 0],
  ['with one volume more', [{ volumes: ['p_data', 'p_more'] }], 0],
  ['without its volume', [{ volumes: [] }], 0],
  ['of a removed service', [{ service: 'gone' }], 0],
])('does not repeat a finished one-shot %s', (_, oneShots, count) => {
  expect(
    unchangedOneShots(
      fingerprints,
      oneShots.map((each) => ({ ...oneShot, ...each })),
    ),
  ).toHaveLength(count);
});

it.each<[string, Partial<InspectedContainer>[], OneShot[], OneShot[]]>([
  ['has exited with 0', [{}], [], [oneShot]],
  ['has exited with another code', [{ exitCode: 1 }], [], []],
  ['ended before the release was started', [{ startedMs: 9 }], [], []],
  ['runs', [{ state: 'running' }], [], []],
  ['is restarted by the engine', [{ restartPolicy: 'always' }], [], []],
  ['has a healthcheck', [{ health: 'healthy' }], [], []],
  ['has finished in one container of two', [{}, { exitCode: 1 }], [], []],
  ['had finished and has no container left', [], [oneShot], [oneShot]],
  ['had finished and then failed', [{ exitCode: 1 }], [oneShot], []],
])('records the one-shots of a service that %s', (_, containers, skipped, oneShots) => {
  const observed = containers.map((each) => ({ ...finished, ...each }));
  expect(finishedOneShots(observed, { fingerprints, skipped, startsBefore: new Map([[finished.id, 9]]) })).toEqual(
    oneShots,
  );
});
