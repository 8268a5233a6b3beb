import { EventEmitter, once } from 'node:events';
import { constants, type PerformanceNodeEntry, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMemorySweep, createSweepSchedule, wipe } from './memory.ts';
import { withCodeUnits } from './streamRedactor.ts';

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

  it('collects everything that is no longer used after each tick for which it is due, and keeps no process alive', async () => {
    const sweep = createMemorySweep();
    using sweeps = observeSweeps();
    const isSwept = async (tokenOnly: boolean) => {
      const before = process.getActiveResourcesInfo();
      sweep(tokenOnly);
      expect(process.getActiveResourcesInfo()).toEqual(before);
      return sweeps.next();
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
  const seen = new EventEmitter();
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isSweep)) seen.emit('sweep');
  });
  observer.observe({ entryTypes: ['gc'] });
  return {
    /** False if there is none for much longer than a sweep is delayed. */
    next: async () => {
      const ended = new AbortController();
      const { signal } = ended;
      const late = sleep(3000, false, { signal });
      return Promise.race([once(seen, 'sweep').then(() => true), late]).finally(() => ended.abort());
    },
    [Symbol.dispose]: () => observer.disconnect(),
  };
}

it('overwrites every buffer with zeros', () => {
  const buffers = [Buffer.from('first'), Buffer.from('second')];
  wipe(...buffers);
  expect(buffers).toEqual([Buffer.alloc(5), Buffer.alloc(6)]);
});

describe('the code units of a text', () => {
  it('are equal to those in the string', () => {
    expect.assertions(1);
    withCodeUnits('aé😀', (units) => expect([...units]).toEqual([0x61, 0xe9, 0xd83d, 0xde00]));
  });

  it('are wiped after use, even if it failed', () => {
    let kept: Uint16Array | undefined;
    const use = (units: Uint16Array) => {
      kept = units;
      throw new Error('failed');
    };
    expect(() => withCodeUnits('secret', use)).toThrow('failed');
    expect(kept).toEqual(new Uint16Array(6));
  });
});
