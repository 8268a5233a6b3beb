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

  it('collects what is no longer used, after each tick for which it is due, and keeps no process alive', async () => {
    const sweep = createMemorySweep();
    const isCollected = async (tokenOnly: boolean) => {
      const unused = new WeakRef({});
      const before = process.getActiveResourcesInfo();
      sweep(tokenOnly);
      expect(process.getActiveResourcesInfo()).toEqual(before);
      await sleep(600);
      return unused.deref() === undefined;
    };
    expect([await isCollected(true), await isCollected(true), await isCollected(false)]).toEqual([true, false, true]);
  });
});
