import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { parseHealth, reportedContainerOf, healthStatusOf } from './health.ts';

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

  it.each([undefined, 'none', ''])('is null for the health status %p', (told) => {
    expect(parseHealth(told)).toBeNull();
    expect(parseHealth('starting')).toBe('starting');
  });

  it('has no exit code in reports while it runs', () => {
    expect(reportedContainerOf(runningContainer).exit_code).toBeNull();
    expect(reportedContainerOf({ ...runningContainer, state: 'exited', exitCode: 3 }).exit_code).toBe(3);
  });
});
