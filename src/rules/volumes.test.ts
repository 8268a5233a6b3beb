import { ignoredPurge, mayRemoveVolumes } from './volumes.ts';

const rows = [
  // production, purge requested, on absent → removed, ignored
  [false, false, 'keep', false, false],
  [false, false, 'purge', true, false],
  [false, true, 'keep', true, false],
  [false, true, 'purge', true, false],
  [true, false, 'keep', false, false],
  [true, false, 'purge', false, true],
  [true, true, 'keep', false, true],
  [true, true, 'purge', false, true],
] as const;

describe('the volume rule (spec §7.1)', () => {
  it.each(rows)('production %s, purge asked for %s, on absent %s: removed %s, ignored %s', (...row) => {
    const [production, purgeRequested, onAbsent, removed, ignored] = row;
    const facts = { production, purgeRequested, onAbsent };
    expect(mayRemoveVolumes(facts)).toBe(removed);
    expect(ignoredPurge(facts) !== null).toBe(ignored);
  });
});
