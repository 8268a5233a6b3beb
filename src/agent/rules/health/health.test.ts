import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { compareContainers, healthStatusOf, isFinished, parseHealth, reportedContainerOf } from './health.ts';

describe('the health of a container (spec §12.4)', () => {
  it.each([
    ['healthy by its healthcheck', { health: 'healthy' }, false, 'healthy'],
    ['starting', { health: 'starting' }, true, 'pending'],
    ['unhealthy', { health: 'unhealthy' }, true, 'pending'],
    ['running without a healthcheck, not settled', {}, false, 'pending'],
    ['running without a healthcheck, settled', {}, true, 'healthy'],
    ['a finished one-shot', { state: 'exited' }, false, 'healthy'],
    ['a one-shot that failed', { state: 'exited', exitCode: 3 }, false, 'failed'],
    ['exited, to be restarted', { state: 'exited', restartPolicy: 'always' }, true, 'pending'],
    ['restarting', { state: 'restarting', restartPolicy: 'always', exitCode: 1 }, true, 'pending'],
    ['created only', { state: 'created' }, true, 'pending'],
    ['dead', { state: 'dead' }, true, 'failed'],
  ])('%s', (_, change, settled, expected) => {
    expect(healthStatusOf({ ...runningContainer, ...change }, settled)).toBe(expected);
  });

  it.each([
    ['stopped', { health: 'unhealthy' }, 'failed'],
    ['stopped before its first probe', { health: 'starting' }, 'failed'],
    ['stopped while it was healthy', { health: 'healthy' }, 'failed'],
    ['stopped, to be restarted on failure', { health: 'unhealthy', restartPolicy: 'on-failure' }, 'failed'],
  ])('is never finished with a healthcheck: %s', (_, change, expected) => {
    expect(healthStatusOf({ ...runningContainer, state: 'exited', ...change }, true)).toBe(expected);
  });

  it('is finished with restart on failure after a success', () => {
    const job = { ...runningContainer, state: 'exited', restartPolicy: 'on-failure' };
    expect(healthStatusOf(job, true)).toBe('healthy');
    expect(healthStatusOf({ ...job, exitCode: 3 }, true)).toBe('failed');
  });

  it.each([undefined, 'none', ''])('is null for the health status %p', (status) => {
    expect(parseHealth(status)).toBeNull();
    expect(parseHealth('starting')).toBe('starting');
  });

  it('has no exit code in reports while it runs', () => {
    const shown = { service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health: null, exit_code: null };
    expect(reportedContainerOf(runningContainer)).toEqual(shown);
    const ended = (state: string) => reportedContainerOf({ ...runningContainer, state, exitCode: 3 }).exit_code;
    expect(['exited', 'dead', 'restarting'].map(ended)).toEqual([3, 3, null]);
  });
});

it.each([
  [true, {}],
  [true, { restartPolicy: 'on-failure' }],
  [false, { state: 'running' }],
  [false, { exitCode: 3 }],
  [false, { health: 'healthy' }],
  [false, { restartPolicy: 'always' }],
  [false, { restartPolicy: 'unless-stopped' }],
])('a one-shot is finished (%s) with %j', (finished, change) => {
  expect(isFinished({ ...runningContainer, state: 'exited', ...change })).toBe(finished);
});

it('the services of a start have new containers, unchanged ones or none any more', () => {
  const container = (id: string, service: string) => ({ id, service });
  const before = [container('1', 'web'), container('2', 'db'), container('3', 'z'), container('4', 'old')];
  const after = [container('5', 'web'), container('1', 'web'), container('6', 'api'), container('2', 'db')];
  expect(compareContainers(before, after)).toEqual({
    ...{ services: ['api', 'web'], untouched: ['db'], gone: ['old', 'z'] },
  });
});
