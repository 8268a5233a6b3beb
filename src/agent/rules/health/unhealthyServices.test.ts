import { running } from '../../../../fixtures/inspected.ts';
import { ailingServices, describeAiling } from './unhealthyServices.ts';
import { wellnessOf, type Inspected } from './health.ts';

const lasting: Inspected = { ...running, restartPolicy: 'always' };

describe('services that are not well', () => {
  it('are also those that have fewer containers than replicas', () => {
    const expected = [
      { name: 'web', replicas: 2 },
      { name: 'db', replicas: 1 },
      { name: 'off', replicas: 0 },
    ];
    expect(ailingServices([lasting], expected)).toEqual(['db', 'web']);
    expect(ailingServices([lasting, { ...lasting, service: 'db' }], [])).toEqual([]);
  });

  it('are each told by the worst of its containers', () => {
    const job = { ...lasting, service: 'job', state: 'exited', exitCode: 3, restartPolicy: 'no' };
    expect(told(['db', 'job', 'web'], lasting, { ...lasting, health: 'unhealthy' }, job)).toBe(
      'db=missing, job=exited(3), web=unhealthy',
    );
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
    ['web=removing', { state: 'removing' }],
    ['web=created', { state: 'created' }],
  ])('are told as %s', (words, change, lastExit: number | null = null) => {
    const container = { ...lasting, ...change };
    const watched = { container, wellness: wellnessOf(container, false), lastExit };
    expect(describeAiling([watched], ['web'])).toBe(words);
  });
});

function told(ailing: string[], ...containers: Inspected[]): string {
  const watched = containers.map((container) => ({ container, wellness: wellnessOf(container, true), lastExit: null }));
  return describeAiling(watched, ailing);
}
