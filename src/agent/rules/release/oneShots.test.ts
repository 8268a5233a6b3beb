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
  ['migrate', { fingerprint: 'f', image: 'app:1', pullPolicy: null, volumes: ['p_data'] }],
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

it.each([
  ['/s/b', '/s/b/run.sh'],
  ['/s/$b"', '/s/$$b"/run.sh'],
])('a one-shot is the same in the release directory %s', (dir, source) => {
  expect(textOf({ volumes: [{ type: 'bind', source }] }, dir)).toBe(textOf({}));
});

it.each<[string, object]>([
  ['image', { image: 'app:2' }],
  ['command', { command: ['other'] }],
  ['environment', { environment: { A: '1' } }],
  ['mount, of the same path on the host', { volumes: [{ type: 'bind', source: '/run.sh' }] }],
])('a one-shot differs with another %s', (_, changes) => {
  expect(textOf(changes)).not.toBe(textOf({}));
});

it('names volumes as the engine does', () => {
  const mounts = { volumes: [...service.volumes, { type: 'volume', source: 'data' }, { type: 'volume' }] };
  const model = { services: { migrate: { ...service, ...mounts } }, volumes: { data: { name: 'p_data' } } };
  expect(serviceDefinitionsOf(model, '/s/a').get('migrate')?.volumes).toEqual(['p_data']);
});

it.each([{}, { services: null, volumes: null }])('has no services in the model %j', (model) => {
  expect(serviceDefinitionsOf(model, '/s/a')).toEqual(new Map());
});

it('may have neither image nor volumes', () => {
  const migrate = { volumes: null, volumes_from: null };
  const [definition] = serviceDefinitionsOf({ services: { migrate }, volumes: { data: null } }, '/s/a').values();
  expect(definition).toMatchObject({ image: '', volumes: [] });
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

it.each<[string, Partial<OneShot>[], OneShot[]]>([
  ['unchanged', [{}], [oneShot]],
  ['unchanged twice', [{}, {}], [oneShot]],
  ['changed', [{ fingerprint: 'other' }], []],
  ['with a volume of another name', [{ volumes: ['q_data'] }], []],
  ['with one volume more', [{ volumes: ['p_data', 'p_more'] }], []],
  ['without its volume', [{ volumes: [] }], []],
  ['of a removed service', [{ service: 'gone' }], []],
])('does not repeat a finished one-shot %s', (_, changes, unchanged) => {
  const finishedBefore = changes.map((each) => ({ ...oneShot, ...each }));
  expect(unchangedOneShots(fingerprints, finishedBefore)).toEqual(unchanged);
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
  ['is no part of the release', [{ service: 'gone' }], [], []],
])('records the one-shots of a service that %s', (_, containers, skipped, oneShots) => {
  const observed = containers.map((each) => ({ ...finished, ...each }));
  expect(finishedOneShots(observed, { fingerprints, skipped, startsBefore: new Map([[finished.id, 9]]) })).toEqual(
    oneShots,
  );
});
