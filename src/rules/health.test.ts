import { ailingServices, describeAiling, healthOf, reportedOf, wellnessOf, type Inspected } from './health.ts';

const running: Inspected = {
  id: 'c1',
  service: 'web',
  oneOff: false,
  name: 'deployd-eu-1-web-1',
  state: 'running',
  health: null,
  exitCode: 0,
  startedMs: 0,
  restartPolicy: 'no',
  image: 'web:1',
  imageId: 'sha256:1',
  mounts: [],
  healthLog: [],
};

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

  it.each([undefined, 'none', ''])('has no health where the engine tells %p', (told) => {
    expect(healthOf(told)).toBeNull();
    expect(healthOf('starting')).toBe('starting');
  });

  it('misses a service that has fewer containers than replicas', () => {
    const expected = [
      { name: 'web', replicas: 2 },
      { name: 'db', replicas: 1 },
    ];
    expect(ailingServices([running], expected)).toEqual(['db', 'web']);
    expect(ailingServices([running, { ...running, service: 'db' }], [])).toEqual([]);
  });

  it('says of each ailing service what its worst container is', () => {
    const containers = [
      running,
      { ...running, health: 'unhealthy' },
      { ...running, service: 'job', state: 'exited', exitCode: 3 },
    ];
    expect(describeAiling(containers, ['db', 'job', 'web'])).toBe('db=missing, job=exited(3), web=unhealthy');
  });

  it('reports no exit code of a container that runs', () => {
    expect(reportedOf(running).exit_code).toBeNull();
    expect(reportedOf({ ...running, state: 'exited', exitCode: 3 }).exit_code).toBe(3);
  });
});
