import { inspectedOf, changeIn, listedOf, type Inspection, type ListEntry } from './container.ts';

const entry: ListEntry = {
  Id: 'c1',
  Names: ['/deployd-eu-1-web-1'],
  State: 'running',
  Status: 'Up 3 hours',
  Labels: { 'com.docker.compose.service': 'web' },
};

describe('what the list tells of a container that runs', () => {
  it.each([
    ['Up Less than a second', null],
    ['Up About an hour', null],
    ['Up 3 hours', null],
    ['Up 5 seconds (health: starting)', 'starting'],
    ['Up 2 weeks (healthy)', 'healthy'],
    ['Up 2 weeks (unhealthy)', 'unhealthy'],
  ])('%s', (Status, health) => {
    const listed = { id: 'c1', service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health };
    expect(listedOf({ ...entry, Status })).toMatchObject(listed);
  });

  it.each([
    ['Less than a second', 0, 1],
    ['1 second', 1, 2],
    ['59 seconds (health: starting)', 59, 60],
    ['About a minute', 60, 120],
    ['2 minutes (healthy)', 120, 180],
    ['About an hour', 3600, Infinity],
    ['2 weeks', 3600, Infinity],
  ])('runs for so long: %s', (time, least, most) => {
    expect(listedOf({ ...entry, Status: `Up ${time}` })?.upMs).toEqual([least * 1000, most * 1000]);
  });

  it.each([
    'Up 3 hours (Paused)',
    'Up 3 hours (none)',
    'Up 3 hours (starting)',
    'Up 3 hours (health: healthy)',
    'Up 3 hours (healthy) (Paused)',
    'Up',
    'running',
    '',
  ])('is nothing where its status is %p', (Status) => {
    expect(listedOf({ ...entry, Status })).toBeNull();
  });

  it.each(['created', 'paused', 'restarting', 'removing', 'exited', 'dead'])('is nothing where it is %s', (State) => {
    expect(listedOf({ ...entry, State })).toBeNull();
  });

  it('is its own name, not that of a link to it', () => {
    const Names = ['/deployd-eu-1-db-1/web', '/deployd-eu-1-web-1'];
    expect(listedOf({ ...entry, Names })).toMatchObject({ name: 'deployd-eu-1-web-1' });
    expect(listedOf({ ...entry, Names: [] })).toBeNull();
    expect(listedOf({ ...entry, Names: null })).toBeNull();
  });
});

describe('the health of a container that the engine never probed', () => {
  const never: Inspection = {
    Id: 'c1',
    Name: '/deployd-eu-1-web-1',
    Image: 'sha256:1',
    RestartCount: 0,
    State: { Status: 'created', StartedAt: '0001-01-01T00:00:00Z', ExitCode: 0 },
    HostConfig: {},
    Config: { Image: 'web:1', Labels: null },
    Mounts: [],
  };
  const healthWith = (Healthcheck?: object) =>
    inspectedOf({ ...never, Config: { ...never.Config, Healthcheck } } as Inspection).health;

  it.each([[['CMD', 'true']], [['CMD-SHELL', 'true']]])('is still to come where it has a healthcheck: %j', (Test) => {
    expect(healthWith({ Test })).toBe('starting');
  });

  it.each([undefined, {}, { Test: null }, { Test: [] }, { Test: ['NONE'] }])(
    'is none where its healthcheck is %j',
    (told) => {
      expect(healthWith(told)).toBeNull();
    },
  );
});

describe('an event of a container', () => {
  const event = (Attributes: object, Action = 'die') =>
    JSON.stringify({ Type: 'container', Action, Actor: { ID: 'c1', Attributes } });

  it.each([
    ['of its end', event({ exitCode: '7', image: 'app:1' }), { id: 'c1', exitCode: 7 }],
    ['of an engine that calls it otherwise', event({ containerExitCode: '7' }, 'died'), { id: 'c1', exitCode: 7 }],
    ['of its health', event({}, 'health_status: healthy'), { id: 'c1', exitCode: null }],
    [
      'of its health, with a code that Podman puts into each',
      event({ containerExitCode: '0' }, 'health_status'),
      { id: 'c1', exitCode: null },
    ],
    ['that is cut', event({}).slice(0, -4), null],
    ['of nobody', '{}', null],
  ])('%s', (_, line, expected) => {
    expect(changeIn(line)).toEqual(expected);
  });
});
