import { nextRestarts, referredServices, serviceEdgesOf, type LinkedService } from './serviceEdges.ts';

describe('edges between services', () => {
  it('reads namespaces, volumes and dependencies with restart from a rendered model', () => {
    const model = {
      services: {
        db: { ipc: 'shareable', network_mode: 'bridge' },
        app: {
          ...{ network_mode: 'service:db', pid: 'service:db', ipc: 'service:db' },
          volumes_from: ['files:ro', 'container:outside', 'more'],
          depends_on: { db: { condition: 'service_started', restart: true }, more: { restart: false } },
        },
      },
    };
    expect(Object.fromEntries(serviceEdgesOf(model))).toEqual({
      db: { joins: [], restarts_with: [] },
      app: {
        joins: [
          { service: 'db', part: 'network' },
          { service: 'db', part: 'pid' },
          { service: 'db', part: 'ipc' },
          { service: 'files', part: 'volumes' },
          { service: 'more', part: 'volumes' },
        ],
        restarts_with: ['db'],
      },
    });
  });

  it.each([null, {}, { services: null }, { services: { web: null } }, { services: { web: { depends_on: ['db'] } } }])(
    'finds none in %j',
    (model) =>
      expect(
        [...serviceEdgesOf(model).values()].flatMap(({ joins, restarts_with }) => [joins, restarts_with].flat()),
      ).toEqual([]),
  );

  it('finds the services that others refer to', () =>
    expect([...referredServices([{ name: 'old' }, member('app', 'db'), { name: 'db', joins: [] }])]).toEqual(['db']));
});

const member = (name: string, service: string, part: 'network' | 'volumes' = 'network'): LinkedService => ({
  name,
  joins: [{ service, part }],
});
const dependent = (name: string, ...restarts_with: string[]): LinkedService => ({ name, restarts_with });
const run = (service: string, startedMs: number, isRunning = true) => ({ id: service, service, startedMs, isRunning });
const before = (...runs: ReturnType<typeof run>[]) => new Map(runs.map(({ id, startedMs }) => [id, startedMs]));

describe('restarts after a start of a release', () => {
  const db = { name: 'db' };
  const oldDb = run('db', 1);

  it.each<[string, LinkedService[], ReturnType<typeof run>[], string[]]>([
    ['of a dependent with restart', [db, dependent('app', 'db')], [run('db', 5), run('app', 2)], ['app after db']],
    ['of none that was started later', [db, dependent('app', 'db')], [run('db', 5), run('app', 6)], []],
    ['of none that does not run', [db, dependent('app', 'db')], [run('db', 5), run('app', 2, false)], []],
    ['of none without restart', [db, { name: 'app', restarts_with: [] }], [run('db', 5), run('app', 2)], []],
    ['of none whose record is older', [db, { name: 'app' }], [run('db', 5), run('app', 2)], []],
    [
      'in the order of dependencies, the next one only when its own has been restarted',
      [dependent('proxy', 'app', 'db'), dependent('app', 'db'), db],
      [run('db', 5), run('app', 2), run('proxy', 3)],
      ['app after db'],
    ],
    ['of one that shares a namespace', [db, member('app', 'db')], [run('db', 5), run('app', 2)], ['app after db']],
    ['of none that only mounts volumes', [db, member('app', 'db', 'volumes')], [run('db', 5), run('app', 2)], []],
    [
      'of any in a cycle',
      [dependent('a', 'b'), dependent('b', 'a')],
      [run('a', 5), { ...run('a', 1), id: 'a2' }, run('b', 2)],
      ['a after b'],
    ],
  ])('%s', (_title, services, containers, expected) =>
    expect(
      nextRestarts(services, containers, before(oldDb)).map(({ service, after }) => `${service} after ${after}`),
    ).toEqual(expected),
  );

  it('is none where the engine made the start, except for namespaces', () => {
    const containers = [run('db', 5), run('app', 2), run('member', 2)];
    const services = [db, dependent('app', 'db'), member('member', 'db')];
    expect(nextRestarts(services, containers, before(run('db', 5)))).toEqual([
      { after: 'db', service: 'member', containers: ['member'] },
    ]);
  });
});
