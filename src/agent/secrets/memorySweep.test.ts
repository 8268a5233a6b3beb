import { createSweepSchedule } from './memorySweep.ts';

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
});
