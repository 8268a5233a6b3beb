import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { problemsOf, servicesOf, describeUnhealthy, type ExpectedService } from './unhealthyServices.ts';
import { healthStatusOf, type InspectedContainer, type ObservedContainer } from './health.ts';

const lasting: InspectedContainer = { ...runningContainer, restartPolicy: 'always' };

const unhealthyServicesOf = (containers: ObservedContainer[], expected: ExpectedService[]) =>
  servicesOf(problemsOf(containers, expected));

describe('unhealthy services', () => {
  it('include those with fewer containers than replicas', () => {
    const expected = [
      { name: 'web', replicas: 2 },
      { name: 'db', replicas: 1 },
      { name: 'off', replicas: 0 },
    ];
    expect(unhealthyServicesOf([lasting], expected)).toEqual(['db', 'web']);
    const both = [lasting, { ...lasting, service: 'db' }];
    expect(unhealthyServicesOf(both, expected)).toEqual(['web']);
    expect(unhealthyServicesOf(both, [])).toEqual([]);
  });

  it('include those with an unhealthy container', () => {
    const unhealthy = { ...lasting, service: 'db', health: 'unhealthy' };
    expect(unhealthyServicesOf([lasting, { ...lasting, service: 'db' }, unhealthy], [])).toEqual(['db']);
  });

  it('are described by their worst container', () => {
    const job = { ...lasting, service: 'job', state: 'exited', exitCode: 3, restartPolicy: 'no' };
    expect(descriptionOf(['db', 'job', 'web'], lasting, { ...lasting, health: 'unhealthy' }, job)).toBe(
      'db=missing, job=exited(3), web=unhealthy',
    );
    expect(descriptionOf(['job'], { ...job, state: 'created' }, job)).toBe('job=exited(3)');
    expect(descriptionOf(['web'], lasting)).toBe('web=running');
  });

  it.each([
    ['web=unhealthy', { health: 'unhealthy' }],
    ['web=starting (2 restarts)', { health: 'starting', restarts: 2 }],
    ['web=running (not settled)', {}],
    ['web=running (not settled, 1 restart, last exit 7)', { restarts: 1 }, 7],
    ['web=restarting (4 restarts, last exit 1)', { state: 'restarting', health: 'unhealthy', restarts: 4 }, 1],
    ['web=restarting (4 restarts)', { state: 'restarting', restarts: 4 }],
    ['web=paused', { state: 'paused', health: 'healthy' }],
    ['web=exited(3)', { state: 'exited', exitCode: 3 }, 3],
    ['web=exited(0) (unhealthy)', { state: 'exited', health: 'unhealthy' }, 0],
    ['web=dead (last exit 137)', { state: 'dead' }, 137],
    ['web=exited(137, out of memory)', { state: 'exited', exitCode: 137, oomKilled: true }, 137],
    [
      'web=restarting (1 restart, last exit 137, out of memory)',
      { state: 'restarting', restarts: 1, oomKilled: true },
      137,
    ],
    ['web=removing', { state: 'removing' }],
    ['web=created', { state: 'created' }],
  ])('are described as %s', (words, change, lastExit: number | null = null) => {
    const container = { ...lasting, ...change };
    const watched = { container, healthStatus: healthStatusOf(container, false), lastExit };
    expect(describeUnhealthy([watched], ['web'])).toBe(words);
  });
});

function descriptionOf(unhealthy: string[], ...containers: InspectedContainer[]): string {
  const watched = containers.map((container) => ({
    container,
    healthStatus: healthStatusOf(container, true),
    lastExit: null,
  }));
  return describeUnhealthy(watched, unhealthy);
}
