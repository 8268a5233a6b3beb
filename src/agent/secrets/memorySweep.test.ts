import { constants, PerformanceObserver, type PerformanceNodeEntry } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMemorySweep, createSweepSchedule } from './memorySweep.ts';

describe('a memory sweep', () => {
  it('is due after one in ten ticks that held only the token, starting with the first', () => {
    const isDue = createSweepSchedule();
    const due = Array.from({ length: 21 }, (_, tick) => (isDue(true) ? [tick] : [])).flat();
    expect(due).toEqual([0, 10, 20]);
  });

  it('is due after every tick that held more than the token', () => {
    const isDue = createSweepSchedule();
    expect([true, true, false, false, true].map(isDue)).toEqual([true, false, true, true, false]);
  });

  it('collects all that is no longer used, after each tick for which it is due, and keeps no process alive', async () => {
    const sweep = createMemorySweep();
    using sweeps = observeSweeps();
    const isSwept = async (tokenOnly: boolean) => {
      const before = process.getActiveResourcesInfo();
      sweep(tokenOnly);
      expect(process.getActiveResourcesInfo()).toEqual(before);
      await sleep(600);
      return sweeps.take();
    };
    expect([await isSwept(true), await isSwept(true), await isSwept(false)]).toEqual([true, false, true]);
  });
});

/** Observes collections of all available garbage. The engine starts only others by itself. */
function observeSweeps() {
  const isSweep = (collection: PerformanceEntry) => {
    const detail = (collection as PerformanceNodeEntry).detail as { flags: number };
    return detail.flags === constants.NODE_PERFORMANCE_GC_FLAGS_ALL_AVAILABLE_GARBAGE;
  };
  let swept = false;
  const observer = new PerformanceObserver((list) => {
    swept ||= list.getEntries().some(isSweep);
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    take: () => {
      const taken = swept;
      swept = false;
      return taken;
    },
    [Symbol.dispose]: () => observer.disconnect(),
  };
}
