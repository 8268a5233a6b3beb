import { runningContainer } from '../../../fixtures/world/engine/stubContainer.ts';
import { lateFailures } from './unhealthyServices.rules.ts';

const services = [
  { name: 'task', replicas: 1, kind: 'once' as const },
  { name: 'job', replicas: 1, kind: 'job' as const },
  { name: 'web', replicas: 1, kind: 'service' as const },
];
const ended = { ...runningContainer, service: 'task', state: 'exited', exitCode: 3, finishedMs: 1500 };
const times = { appliedMs: 1000, windowMs: 1000, bootMs: 0 };

describe('a failure soon after the apply', () => {
  it.each([
    ['an error in the window', {}, true],
    ['one at its end', { finishedMs: 2000 }, true],
    ['one before the commit was written', { finishedMs: 900 }, true],
    ['one after it', { finishedMs: 2001 }, false],
    ['one without a time', { finishedMs: undefined }, false],
    ['the exit code 0', { exitCode: 0 }, false],
    ['a signal from outside', { exitCode: 137 }, false],
    ['want of memory', { exitCode: 137, oomKilled: true }, true],
    ['a crash by a signal of its own', { exitCode: 139 }, true],
    ['a container with a healthcheck', { health: 'unhealthy' }, false],
    ['a running container', { state: 'running' }, false],
    ['a job', { service: 'job' }, false],
    ['a service with a restart policy', { service: 'web' }, false],
    ['a service of an older record', { service: 'other' }, false],
    ['a container that another tool created', { id: 'foreign' }, false],
  ])('%s', (_title, change, counts) => {
    const recorded = [{ ...ended, image: '', networks: [], volumes: [], number: '1' }];
    const found = [{ ...ended, ...change } as typeof ended];
    expect(lateFailures(found, { services, containers: recorded }, times)).toHaveLength(counts ? 1 : 0);
  });

  it('does not count if the host was started meanwhile', () => {
    expect(lateFailures([ended], { services }, { ...times, bootMs: 1200 })).toEqual([]);
  });

  it('counts with a record of an older agent, which has no containers', () => {
    expect(lateFailures([ended], { services }, times)).toEqual([ended]);
  });
});
