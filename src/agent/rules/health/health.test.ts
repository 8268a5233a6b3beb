import { running } from '../../../../fixtures/inspected.ts';
import { healthOf, reportedOf, wellnessOf } from './health.ts';

describe('how a container is (spec §12.4)', () => {
  it.each([
    ['healthy by its check', { health: 'healthy' }, false, 'well'],
    ['starting', { health: 'starting' }, true, 'waiting'],
    ['unhealthy', { health: 'unhealthy' }, true, 'waiting'],
    ['running unchecked, not settled', {}, false, 'waiting'],
    ['running unchecked, settled', {}, true, 'well'],
    ['a one-shot that is done', { state: 'exited' }, false, 'well'],
    ['a one-shot that failed', { state: 'exited', exitCode: 3 }, false, 'lost'],
    ['exited, to be restarted', { state: 'exited', restartPolicy: 'always' }, true, 'waiting'],
    ['restarting', { state: 'restarting', restartPolicy: 'always', exitCode: 1 }, true, 'waiting'],
    ['created only', { state: 'created' }, true, 'waiting'],
    ['dead', { state: 'dead' }, true, 'lost'],
  ])('%s', (_, change, settled, expected) => {
    expect(wellnessOf({ ...running, ...change }, settled)).toBe(expected);
  });

  it.each([
    ['stopped', { health: 'unhealthy' }, 'lost'],
    ['stopped before its first probe', { health: 'starting' }, 'lost'],
    ['stopped while it was healthy', { health: 'healthy' }, 'lost'],
    ['stopped, to be restarted on failure', { health: 'unhealthy', restartPolicy: 'on-failure' }, 'lost'],
  ])('with a healthcheck is never done: %s', (_, change, expected) => {
    expect(wellnessOf({ ...running, state: 'exited', ...change }, true)).toBe(expected);
  });

  it('is done where it was to be restarted on failure, and did not fail', () => {
    const job = { ...running, state: 'exited', restartPolicy: 'on-failure' };
    expect(wellnessOf(job, true)).toBe('well');
    expect(wellnessOf({ ...job, exitCode: 3 }, true)).toBe('lost');
  });

  it.each([undefined, 'none', ''])('has no health where the engine tells %p', (told) => {
    expect(healthOf(told)).toBeNull();
    expect(healthOf('starting')).toBe('starting');
  });

  it('reports no exit code of a container that runs', () => {
    expect(reportedOf(running).exit_code).toBeNull();
    expect(reportedOf({ ...running, state: 'exited', exitCode: 3 }).exit_code).toBe(3);
  });
});
