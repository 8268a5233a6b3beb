import { createTurns } from './sweep.ts';

describe('the turns of the sweep', () => {
  it('are one in ten of the ticks that held the token alone, the first among them', () => {
    const isDue = createTurns();
    const due = Array.from({ length: 21 }, (_, tick) => (isDue(true) ? [tick] : [])).flat();
    expect(due).toEqual([0, 10, 20]);
  });

  it('are all of those that held more', () => {
    const isDue = createTurns();
    expect([true, true, false, false, true].map(isDue)).toEqual([true, false, true, true, false]);
  });
});
