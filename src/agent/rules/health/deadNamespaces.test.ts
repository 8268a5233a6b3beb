import { deadNamespaces } from './deadNamespaces.ts';
import type { InspectedContainer } from './health.ts';

const container = (service: string, more: Partial<InspectedContainer> = {}): InspectedContainer => ({
  ...{ id: service, service, oneOff: false, name: `${service}-1`, state: 'running', health: null, exitCode: 0 },
  ...{ oomKilled: false, startError: '', startedMs: 10, createdMs: 0, restarts: 0, failingStreak: 0, retries: 3 },
  ...{ restartPolicy: 'no', image: 'app:1', imageId: 'sha256:1', mounts: [], healthLog: [], ...more },
});
const member = (more: Partial<InspectedContainer> = {}) =>
  container('app', { shares: [{ part: 'network', owner: 'dbdbdbdbdbdbdb' }], ...more });

describe('dead namespaces', () => {
  it.each<[string, InspectedContainer, InspectedContainer | null, string | null]>([
    ['of an owner that was started later', member(), container('db', { startedMs: 11 }), 'restart'],
    [
      'kept by a container that is restarting',
      member({ state: 'restarting' }),
      container('db', { startedMs: 11 }),
      'restart',
    ],
    ['of an owner that is gone', member(), null, 'recreate'],
    [
      'of an owner that is gone, by a container that has failed',
      member({ state: 'exited', exitCode: 1 }),
      null,
      'recreate',
    ],
    ['of no owner that was started before', member(), container('db', { startedMs: 9 }), null],
    ['of no owner that does not run', member(), container('db', { startedMs: 11, state: 'exited' }), null],
    [
      'of none, by a container that does not run',
      member({ state: 'exited' }),
      container('db', { startedMs: 11 }),
      null,
    ],
    ['of an owner that is gone, by a container that has finished', member({ state: 'exited' }), null, null],
  ])('%s', (_title, kept, owner, cure) => {
    const problems = deadNamespaces([kept], new Map([['dbdbdbdbdbdbdb', owner]]), () => 'db');
    const detail = 'keeps the dead network namespace of db';
    const problem = { service: 'app', detail, cure, containers: ['app'], isFailure: true };
    expect(problems).toEqual(cure === null ? [] : [problem]);
  });

  it('names an owner that no record names', () => {
    const problems = deadNamespaces([member()], new Map([['dbdbdbdbdbdbdb', null]]), () => undefined);
    expect(problems.map(({ detail }) => detail)).toEqual(['keeps the dead network namespace of dbdbdbdbdbdb']);
  });
});
