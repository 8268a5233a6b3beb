import {
  endedServices,
  expectedServices,
  finishedServices,
  parseReleaseRecord,
  replacedImages,
  wasApplied,
  type ReleaseRecord,
} from './releaseRecord.ts';

const record: ReleaseRecord = {
  schema: 1,
  sha: 'a'.repeat(64),
  version: '2026.11.21-3',
  sequence: 42,
  production: false,
  services: [{ name: 'web', replicas: 2 }],
  images: [{ reference: 'registry.example/web:1', id: 'sha256:1' }],
  compose: ['compose.yaml'],
};

const job = { service: 'migrate', fingerprint: 'f', image: 'sha256:2', volumes: ['data'] };
const image = { service: 'web', image: 'app:1', digest: 'sha256:1', signers: ['s'] };
const env = { bytes: 0, mac: 'm', key: 'k' };

it.each<object>([
  record,
  { ...record, variables: { LEVEL: 'info' }, jobs: [job], env, verified_images: [image] },
  { ...record, services: [{ name: 'web', replicas: 0 }], images: [{ reference: 'a:1', id: null }] },
  { ...record, later: 1 },
  {
    ...record,
    services: [
      { name: 'a', replicas: 1, kind: 'job', job_by: 'awaited', demand_s: 0, after: [] },
      { name: 'b', replicas: 1, kind: 'later', demand_s: 2.5, after: [{ name: 'a', condition: 'later' }], new: 1 },
    ],
    ended: ['b'],
  },
])('is parsed as it was written: %j', (written) => {
  expect(parseReleaseRecord(JSON.stringify(written))).toEqual(written);
});

it.each(['', 'null', '{}', '[]'])('rejects %j', (text) => {
  expect(parseReleaseRecord(text)).toBeNull();
});

it.each<object>([
  { schema: 2 },
  { sha: 'x' },
  { version: 7 },
  { sequence: 1.5 },
  { production: null },
  { services: null },
  { services: ['web'] },
  { services: [{ name: null, replicas: 1 }] },
  { services: [{ name: 'web', replicas: -1 }] },
  { services: [{ name: 'web', replicas: 1.5 }] },
  { images: null },
  { images: [{ reference: null, id: null }] },
  { images: [{ reference: 'a:1', id: 1 }] },
  { images: [{ reference: 'a:1' }] },
  { compose: 'compose.yaml' },
  { compose: [1] },
  { variables: null },
  { variables: { LEVEL: 1 } },
  { jobs: null },
  { jobs: [{ ...job, service: null }] },
  { jobs: [{ ...job, fingerprint: null }] },
  { jobs: [{ ...job, image: null }] },
  { jobs: [{ ...job, volumes: null }] },
  { verified_images: null },
  { verified_images: [{ ...image, service: null }] },
  { verified_images: [{ ...image, image: null }] },
  { verified_images: [{ ...image, digest: null }] },
  { verified_images: [{ ...image, signers: 's' }] },
  { env: null },
  { env: { ...env, bytes: -1 } },
  { env: { ...env, bytes: 0.5 } },
  { env: { ...env, mac: null } },
  { env: { ...env, key: null } },
])('rejects a record with %j', (patch) => {
  expect(parseReleaseRecord(JSON.stringify({ ...record, ...patch }))).toBeNull();
});

it('expects a container of every service but a finished one-shot', () => {
  const services = ['web', 'migrate'].map((name) => ({ name, replicas: 1 }));
  expect(expectedServices({ ...record, services })).toEqual(services);
  expect(expectedServices({ ...record, services, jobs: [job] })).toEqual(services.slice(0, 1));
  expect(expectedServices(null)).toEqual([]);
});

it('was applied when it contains the id of an image', () => {
  const unknown = { reference: 'b:1', id: null };
  expect(wasApplied({ ...record, images: [...record.images, unknown] })).toBe(true);
  expect(wasApplied({ ...record, images: [unknown] })).toBe(false);
});

it.each<[string, { image: string; imageId: string }[], string[]]>([
  ['the recorded images', [{ image: 'a:1', imageId: 'sha256:a' }], []],
  ['another image under the same name', [{ image: 'a:1', imageId: 'sha256:x' }], ['a:1']],
  [
    'one of several images under the same name',
    ['a', 'x'].map((id) => ({ image: 'a:1', imageId: `sha256:${id}` })),
    ['a:1'],
  ],
  ['an image that is not recorded', [{ image: 'c:1', imageId: 'sha256:x' }], []],
  ['nothing', [], []],
])('finds replaced images when containers run %s', (_, running, others) => {
  const recorded = [{ reference: 'a:1', id: 'sha256:a' }];
  expect(replacedImages(recorded, running)).toEqual(others.map((reference) => ({ reference, id: 'sha256:a' })));
});

describe('services that ended', () => {
  const services = [
    { name: 'task', replicas: 2, kind: 'once' as const },
    { name: 'job', replicas: 1, kind: 'job' as const },
    { name: 'seed', replicas: 1, kind: 'once' as const },
    { name: 'web', replicas: 1, kind: 'service' as const },
    { name: 'old', replicas: 1 },
  ];
  const seed = { service: 'seed', fingerprint: 'f', image: 'i', volumes: [] };
  const release = { ...record, services, jobs: [seed] };
  const container = (service: string, change: object = {}) => ({
    ...{ service, name: service, state: 'exited', health: null, exit_code: 0 },
    ...change,
  });
  const all = ['task', 'job', 'seed', 'web', 'old'].map((service) => container(service));

  it('are those without a restart policy whose containers have all ended with 0', () => {
    expect(endedServices(release, all)).toEqual(['task']);
    expect(endedServices(release, [...all, container('task', { state: 'running', exit_code: null })])).toEqual([]);
    expect(endedServices(release, [...all, container('task', { exit_code: 1 })])).toEqual([]);
    expect(endedServices(release, [container('task', { health: 'unhealthy' })])).toEqual([]);
  });

  it('stay so without a container, and need none', () => {
    expect(endedServices(release, [])).toEqual([]);
    const ended = { ...release, ended: ['task'] };
    expect(endedServices(ended, [])).toEqual(['task']);
    expect([...finishedServices(ended)]).toEqual(['seed', 'task']);
    expect(expectedServices(ended).map(({ name }) => name)).toEqual(['job', 'web', 'old']);
  });
});
