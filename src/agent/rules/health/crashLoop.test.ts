import { runningContainer } from '../../../../fixtures/engine/stubContainer.ts';
import { findCrashLoop, RestartCounts } from './crashLoop.ts';

describe('a crash loop', () => {
  it.each([
    [
      'three exits in 29.9 s',
      'always',
      [
        [0, 1],
        [15, 1],
        [29.9, 4],
      ],
      { exits: 3, seconds: 30, lastExit: 4 },
    ],
    [
      'three exits in 30.1 s',
      'always',
      [
        [0, 1],
        [15, 1],
        [30.1, 4],
      ],
      null,
    ],
    [
      'two exits',
      'always',
      [
        [0, 1],
        [1, 1],
      ],
      null,
    ],
    [
      'exits with 0 of a container that always runs',
      'unless-stopped',
      [
        [0, 0],
        [1, 0],
        [2, 0],
      ],
      { exits: 3, seconds: 2, lastExit: 0 },
    ],
    [
      'a third exit with 0 of a container that is started again after failures',
      'on-failure',
      [
        [0, 1],
        [1, 1],
        [2, 0],
      ],
      null,
    ],
    [
      'three failures of such a container',
      'on-failure',
      [
        [0, 1],
        [1, 1],
        [2, 1],
      ],
      { exits: 3, seconds: 2, lastExit: 1 },
    ],
    [
      'the first three of four',
      'always',
      [
        [0, 1],
        [1, 2],
        [2, 3],
        [90, 4],
      ],
      { exits: 3, seconds: 2, lastExit: 3 },
    ],
  ])('is found in %s: %#', (_title, restartPolicy, exits, expected) => {
    const all = exits.map(([s = 0, code = 0]) => ({ atMs: 1000 * s, code }));
    expect(findCrashLoop({ restartPolicy }, all)).toEqual(expected);
  });

  it('is found by restart counts without events', () => {
    const container = { ...runningContainer, restartPolicy: 'always' };
    const counts = new RestartCounts();
    const loopAt = (nowMs: number, restarts: number) =>
      findCrashLoop(container, counts.exitsOf({ ...container, restarts }, { nowMs, code: 7 }));
    expect(loopAt(0, 5)).toBeNull();
    expect(loopAt(1000, 6)).toBeNull();
    expect(loopAt(12_000, 7)).toBeNull();
    expect(loopAt(13_000, 8)).toEqual({ exits: 3, seconds: 12, lastExit: 7 });
    expect(loopAt(14_000, 0)).toEqual({ exits: 3, seconds: 12, lastExit: 7 });
  });
});
