import type { Manifest } from '../../../../machines/types.ts';
import { validateRollback } from './rollback.ts';

describe('a rollback', () => {
  it.each([
    [42, null, false, false],
    [0, null, false, false],
    [42, 42, false, false],
    [43, 42, false, false],
    [41, 42, false, true],
    [41, 42, true, false],
    [0, 1, false, true],
  ])('sequence %s after %s with allow_rollback %s is refused: %s', (...row) => {
    const [sequence, highest, allow_rollback, isRefused] = row;
    const manifest = {
      sequence,
      version: '7',
      agent: { allow_privileged: true, allow_rollback },
    } as unknown as Manifest;
    expect(validateRollback(manifest, highest)?.code).toBe(isRefused ? 'ROLLBACK_REFUSED' : undefined);
  });

  it('names both sequences', () => {
    const manifest = { sequence: 41, version: '7', agent: { allow_rollback: false } } as unknown as Manifest;
    expect(validateRollback(manifest, 42)?.detail).toBe(
      'sequence 41 (version 7) is lower than 42, the highest applied here',
    );
  });

  it.each([
    [[], 'raise the sequence, or set agent.allow_rollback in manifest.json', false],
    [['rollback'], 'raise the sequence, as policy.deny: rollback of this host outlives the flags of the bundle', true],
    [['purge'], 'raise the sequence, or set agent.allow_rollback in manifest.json', false],
  ] as const)('is told its cure where a host denies %j', (deny, cure, isDenied) => {
    const manifest = { sequence: 41, version: '7', agent: { allow_rollback: false } } as unknown as Manifest;
    expect(validateRollback(manifest, 42, deny)?.faults?.map((fault) => fault.cure)).toEqual([cure]);
    const flagged = { ...manifest, agent: { ...manifest.agent, allow_rollback: true } };
    expect(validateRollback(flagged, 42, deny) !== null).toBe(isDenied);
  });
});
