import { formatIgnoredPurge, mayRemoveVolumes, productionOf } from './volumeRule.ts';

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
  [null, false, 'keep', false, false],
  [null, false, 'purge', false, true],
  [null, true, 'keep', false, true],
  [null, true, 'purge', false, true],
] as const;

describe('the volume rule (spec §7.1)', () => {
  it.each(rows)('production %s, purge requested %s, on absent %s: removed %s, ignored %s', (...row) => {
    const [production, purgeRequested, onAbsent, removed, ignored] = row;
    const facts = { production, purgeRequested, onAbsent, denied: false };
    expect(mayRemoveVolumes(facts)).toBe(removed);
    expect(formatIgnoredPurge(facts, ['data']) !== null).toBe(ignored);
  });

  it('logs an ignored purge of an unknown env only when it has volumes, with their names', () => {
    const facts = { production: null, purgeRequested: true, onAbsent: 'keep', denied: false } as const;
    expect(formatIgnoredPurge(facts, [])).toBeNull();
    expect(formatIgnoredPurge(facts, ['deployd-eu-1_data', 'deployd-eu-1_logs'])).toBe(
      'purge of volumes ignored: nothing on this host tells whether it is a production env; staying, to be removed by hand if it is none: deployd-eu-1_data, deployd-eu-1_logs',
    );
  });

  it('logs an ignored purge of a production env, volumes or not', () => {
    expect(formatIgnoredPurge({ production: true, purgeRequested: true, onAbsent: 'keep', denied: false }, [])).toBe(
      'purge of volumes ignored: this is a production env; volumes stay',
    );
  });

  it.each([
    [[], null],
    [[false], false],
    [[false, false], false],
    [[false, null], null],
    [[null], null],
    [[false, null, true], true],
    [[true], true],
  ])('releases with the statuses %j make production %s', (statuses, expected) =>
    expect(productionOf(statuses)).toBe(expected),
  );
});

it('a host that denies purges keeps its volumes, and says so', () => {
  const facts = { production: false, purgeRequested: true, onAbsent: 'purge', denied: true } as const;
  expect(mayRemoveVolumes(facts)).toBe(false);
  const line = 'purge of volumes ignored: policy.deny of this host names purge; volumes stay';
  expect(formatIgnoredPurge(facts, [])).toBe(line);
  expect(formatIgnoredPurge({ ...facts, purgeRequested: false, onAbsent: 'keep' }, [])).toBeNull();
});
