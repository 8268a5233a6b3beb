import { listedOf, type ListEntry } from './container.ts';

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
    const listed = { service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health };
    expect(listedOf({ ...entry, Status })).toEqual(listed);
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
