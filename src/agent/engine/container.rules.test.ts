import {
  type ContainerInspection,
  type ContainerListEntry,
  parseContainerEvent,
  parseInspection,
  parseListEntry,
} from './container.rules.ts';

const entry: ContainerListEntry = {
  Id: 'c1',
  Names: ['/deployd-eu-1-web-1'],
  State: 'running',
  Status: 'Up 3 hours',
  Labels: { 'com.docker.compose.service': 'web' },
};

describe('the list entry of a running container', () => {
  it.each([
    ['Up Less than a second', null],
    ['Up About an hour', null],
    ['Up 3 hours', null],
    ['Up 5 seconds (health: starting)', 'starting'],
    ['Up 2 weeks (healthy)', 'healthy'],
    ['Up 2 weeks (unhealthy)', 'unhealthy'],
  ])('%s', (Status, health) => {
    const listed = { id: 'c1', service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health };
    expect(parseListEntry({ ...entry, Status })).toMatchObject(listed);
  });

  it.each([
    ['Less than a second', 0, 1],
    ['1 second', 1, 2],
    ['59 seconds (health: starting)', 59, 60],
    ['About a minute', 60, 120],
    ['2 minutes (healthy)', 120, 180],
    ['About an hour', 3600, Infinity],
    ['2 weeks', 3600, Infinity],
    ['5 minutes 3 seconds', 3600, Infinity],
  ])('has an uptime: %s', (time, least, most) => {
    expect(parseListEntry({ ...entry, Status: `Up ${time}` })?.upMs).toEqual([least * 1000, most * 1000]);
  });

  it.each([
    'Up 3 hours (Paused)',
    'Up 3 hours (none)',
    'Up 3 hours (starting)',
    'Up 3 hours (health: healthy)',
    'Up 3 hours (healthy) (Paused)',
    'Not Up 3 hours',
    'Up',
    'running',
    '',
  ])('is ambiguous with the status %p', (Status) => {
    expect(parseListEntry({ ...entry, Status })).toBeNull();
  });

  it.each(['created', 'paused', 'restarting', 'removing', 'exited', 'dead'])('is null for the state %s', (State) => {
    expect(parseListEntry({ ...entry, State })).toBeNull();
  });

  it('has an empty service without the labels of compose', () => {
    expect(parseListEntry({ ...entry, Labels: null })).toMatchObject({ service: '' });
    expect(parseListEntry({ ...entry, Labels: {} })).toMatchObject({ service: '' });
  });

  it('has its own name, and not the name of a link to it', () => {
    const Names = ['/deployd-eu-1-db-1/web', '/deployd-eu-1-web-1'];
    expect(parseListEntry({ ...entry, Names })).toMatchObject({ name: 'deployd-eu-1-web-1' });
    expect(parseListEntry({ ...entry, Names: [] })).toBeNull();
    expect(parseListEntry({ ...entry, Names: null })).toBeNull();
  });
});

const never: ContainerInspection = {
  Id: 'c1',
  Name: '/deployd-eu-1-web-1',
  Image: 'sha256:1',
  Created: '2026-01-01T00:00:00Z',
  RestartCount: 0,
  State: { Status: 'created', StartedAt: '0001-01-01T00:00:00Z', ExitCode: 0 },
  HostConfig: {},
  Config: { Image: 'web:1', Labels: null },
  Mounts: [],
};

it('contains the facts of an inspected container', () => {
  const created = {
    ...{ id: 'c1', service: '', oneOff: false, name: 'deployd-eu-1-web-1', state: 'created', health: null },
    ...{
      exitCode: 0,
      oomKilled: false,
      startError: '',
      startedMs: Date.parse(never.State.StartedAt),
      restarts: 0,
      restartPolicy: 'no',
    },
    ...{ createdMs: Date.parse(never.Created), failingStreak: 0, retries: 3 },
    ...{ image: 'web:1', imageId: 'sha256:1', mounts: [], healthLog: [] },
  };
  expect(parseInspection(never)).toEqual(created);
  const Labels = { 'com.docker.compose.service': 'web', 'com.docker.compose.oneoff': 'True' };
  const Health = { Status: 'unhealthy', Log: [{ Output: 'no answer' }] };
  const probed: ContainerInspection = {
    ...{ ...never, Config: { Image: 'web:1', Labels }, State: { ...never.State, Health } },
    ...{ HostConfig: { RestartPolicy: { Name: 'always' } }, Mounts: [{ Source: '/srv' }] },
  };
  expect(parseInspection(probed)).toEqual({
    ...{ ...created, service: 'web', oneOff: true, health: 'unhealthy', restartPolicy: 'always', mounts: ['/srv'] },
    healthLog: [{ text: 'no answer', truncated: false }],
  });
  const silent = { ...never, State: { ...never.State, Health: { Status: 'healthy', Log: null } } };
  expect(parseInspection({ ...silent, HostConfig: { RestartPolicy: { Name: '' } } })).toEqual({
    ...{ ...created, health: 'healthy' },
  });
});

it('reports that a container ran out of memory, and why the engine could not start it', () => {
  const State = { ...never.State, Status: 'exited', ExitCode: 137, OOMKilled: true, Error: 'exec format error' };
  expect(parseInspection({ ...never, State })).toMatchObject({ oomKilled: true, startError: 'exec format error' });
});

describe('the health of a container that the engine never probed', () => {
  const healthWith = (Healthcheck?: object) =>
    parseInspection({ ...never, Config: { ...never.Config, Healthcheck } } as ContainerInspection).health;

  it.each([[['CMD', 'true']], [['CMD-SHELL', 'true']]])('is starting with a healthcheck: %j', (Test) => {
    expect(healthWith({ Test })).toBe('starting');
  });

  it.each([undefined, {}, { Test: null }, { Test: [] }, { Test: ['NONE'] }])(
    'is null with the healthcheck %j',
    (test) => {
      expect(healthWith(test)).toBeNull();
    },
  );
});

describe('an event of a container', () => {
  const event = (Attributes: object, Action = 'die') =>
    JSON.stringify({ Type: 'container', Action, Actor: { ID: 'c1', Attributes } });

  it.each([
    ['of its exit', event({ exitCode: '7', image: 'app:1' }), { id: 'c1', exitCode: 7 }],
    ['of an engine with other names', event({ containerExitCode: '7' }, 'died'), { id: 'c1', exitCode: 7 }],
    ['of its health', event({}, 'health_status: healthy'), { id: 'c1', exitCode: null }],
    [
      'of its health, with a code that Podman puts into each',
      event({ containerExitCode: '0' }, 'health_status'),
      { id: 'c1', exitCode: null },
    ],
    ['of its end without a code', event({}), { id: 'c1', exitCode: null }],
    ['of the end of a probe in it', event({ exitCode: '1' }, 'exec_die'), { id: 'c1', exitCode: null }],
    ['of another action', event({ exitCode: '1' }, 'diet'), { id: 'c1', exitCode: null }],
    [
      'with its time in nanoseconds',
      JSON.stringify({
        Action: 'die',
        Actor: { ID: 'c1', Attributes: { exitCode: '7' } },
        time: 2,
        timeNano: 2_500_000_000,
      }),
      { id: 'c1', exitCode: 7, atMs: 2500 },
    ],
    [
      'with its time in seconds',
      JSON.stringify({ Action: 'start', Actor: { ID: 'c1', Attributes: {} }, time: 2 }),
      { id: 'c1', exitCode: null, atMs: 2000 },
    ],
    ['that is truncated', event({}).slice(0, -4), null],
    ['without a container', '{}', null],
  ])('%s', (_, line, expected) => {
    expect(parseContainerEvent(line)).toEqual(expected);
  });
});
