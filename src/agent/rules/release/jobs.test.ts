import type { Inspected } from '../health/health.ts';
import { definitionsOf, finishedJobs, unchangedJobs, type Job, type Made } from './jobs.ts';

const job: Job = { service: 'migrate', fingerprint: 'f', image: 'sha256:1', volumes: ['p_data'] };
const made = new Map<string, Made>([['migrate', { fingerprint: 'f', image: 'app:1', volumes: ['p_data'] }]]);
const done = {
  service: 'migrate',
  state: 'exited',
  exitCode: 0,
  health: null,
  restartPolicy: 'no',
  imageId: 'sha256:1',
  startedMs: 10,
} as Partial<Inspected> as Inspected;

const service = { image: 'app:1', volumes: [{ type: 'bind', source: '/s/a/run.sh' }], command: ['run'] };
const textOf = (more: object, dir = '/s/a') =>
  definitionsOf({ services: { migrate: { ...service, ...more } } }, dir).get('migrate')?.text;

it.each<[string, object]>([
  ['whom it waits for', { depends_on: { db: { condition: 'service_started' } } }],
  ['how it is pulled', { pull_policy: 'always' }],
])('a job is the same whatever %s', (_, more) => {
  expect(textOf(more)).toBe(textOf({}));
});

it('a job is the same wherever its release lies', () => {
  const moved = { volumes: [{ type: 'bind', source: '/s/b/run.sh' }] };
  expect(textOf(moved, '/s/b')).toBe(textOf({}));
});

it.each<[string, object]>([
  ['image', { image: 'app:2' }],
  ['command', { command: ['other'] }],
  ['environment', { environment: { A: '1' } }],
])('a job is another one with another %s', (_, more) => {
  expect(textOf(more)).not.toBe(textOf({}));
});

it('names the volumes of a service as the engine does', () => {
  const mounts = { volumes: [{ type: 'volume', source: 'data' }, { type: 'volume' }] };
  const model = { services: { migrate: { ...service, ...mounts } }, volumes: { data: { name: 'p_data' } } };
  expect(definitionsOf(model, '/s/a').get('migrate')?.volumes).toEqual(['p_data']);
});

it('names the volumes that a service takes over from others, of which each may take over from the next', () => {
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
  expect(definitionsOf({ services, volumes }, '/s/a').get('migrate')?.volumes).toEqual(['own', 'moved', 'disk']);
});

it.each<[string, Partial<Job>[], number]>([
  ['unchanged', [{}], 1],
  ['unchanged twice', [{}, {}], 1],
  ['changed', [{ fingerprint: 'other' }], 0],
  ['with a volume of another name', [{ volumes: ['q_data'] }], 0],
  ['with one volume more', [{ volumes: ['p_data', 'p_more'] }], 0],
  ['without its volume', [{ volumes: [] }], 0],
  ['of a service that is gone', [{ service: 'gone' }], 0],
])('takes a finished job for done that is %s', (_, jobs, count) => {
  expect(
    unchangedJobs(
      made,
      jobs.map((each) => ({ ...job, ...each })),
    ),
  ).toHaveLength(count);
});

it.each<[string, Partial<Inspected>[], Job[], Job[]]>([
  ['has exited with 0', [{}], [], [job]],
  ['has exited with another code', [{ exitCode: 1 }], [], []],
  ['ended before the release was brought up', [{ startedMs: 9 }], [], []],
  ['runs', [{ state: 'running' }], [], []],
  ['is started again by the engine', [{ restartPolicy: 'always' }], [], []],
  ['has a healthcheck', [{ health: 'healthy' }], [], []],
  ['has finished in one container of two', [{}, { exitCode: 1 }], [], []],
  ['had finished, and has no container any more', [], [job], [job]],
  ['had finished, and then failed', [{ exitCode: 1 }], [job], []],
])('remembers of a service that %s what it must', (_, containers, known, jobs) => {
  const seen = containers.map((each) => ({ ...done, ...each }));
  expect(finishedJobs(seen, { made, known, before: new Map([[done.id, 9]]) })).toEqual(jobs);
});
