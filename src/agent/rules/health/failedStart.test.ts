import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { failedAtStart } from './failedStart.ts';

const before = { id: 'c1', startedMs: 5 };

it.each([
  ['one that ended with an error since the start', { state: 'exited', exitCode: 3, startedMs: 9 }, true],
  ['one that is restarted after an error', { state: 'restarting', exitCode: 1, startedMs: 9 }, true],
  ['one that was dead before', { state: 'exited', exitCode: 3, startedMs: 5 }, false],
  ['one that has finished', { state: 'exited', exitCode: 0, startedMs: 9 }, false],
  ['one that runs', { startedMs: 9 }, false],
  ['one that the engine could not start', { state: 'created', startError: 'exec format error' }, true],
  ['one that compose calls unhealthy', { health: 'unhealthy' }, true],
  ['one that is unhealthy without being blamed', { health: 'unhealthy', name: 'other-1' }, false],
])('a start failed at %s: %p', (_, change, expected) => {
  const container = { ...runningContainer, ...before, ...change };
  const output = `dependency failed to start: container ${runningContainer.name} is unhealthy`;
  const starts = new Map([[before.id, before.startedMs]]);
  expect(failedAtStart([container], { starts, output })).toEqual(expected ? [container] : []);
});
