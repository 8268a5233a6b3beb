import type { Ending } from '../../../../machines/endings.ts';
import type { Trace } from '../trace/trace.ts';
import type { HistoryEntry } from './historyEntry.ts';
import { isUneventful, matters, tickEntryOf, type TickFacts } from './tickEntry.ts';

const at = '2026-11-26T12:00:00.000Z';
const [shaA, shaB] = ['a'.repeat(64), 'b'.repeat(64)];

function traceOf(ending: Ending, more: Partial<Trace> = {}): Trace {
  return {
    ...{ schema: 1, tick: 't', version: '0', env: 'eu-1', intent: 'tick', started_at: at, ms: 9, exit: 0 },
    ...{ ending, codes: [], steps: [], decisions: [], ...more },
  };
}

const desired = (reason: string) =>
  ({ word: 'desired', action: 'apply', desired: shaB, applied: shaA, reason, state: 's', at_ms: 0 }) as const;
const nothing: TickFacts = { outcome: { lines: [], reason: '', reverted: false }, version: '1.2', signers: [] };
const entry = (ending: Ending, more: Partial<Trace> = {}, facts: Partial<TickFacts> = {}) =>
  tickEntryOf(traceOf(ending, more), { ...nothing, ...facts });

describe('the entry of a tick', () => {
  it('tells what was applied, by whom it was signed, and why', () => {
    const { sha, version, signers, reason } = entry(
      'applied',
      { decisions: [desired('sha_changed')] },
      { signers: ['k'] },
    );
    expect({ sha, version, signers, reason }).toEqual({
      ...{ sha: shaB, version: '1.2', signers: ['k'] },
      reason: 'the wanted bundle changed from aaaaaaaaaaaa to bbbbbbbbbbbb',
    });
  });

  it('tells the first line of a failure, and that the previous release was brought back', () => {
    const outcome = { lines: ['failed: up', 'more'], reason: '', reverted: true };
    const found = entry('failed', { codes: ['UP_FAILED'], decisions: [desired('sha_changed')] }, { outcome });
    expect(found).toMatchObject({
      codes: ['UP_FAILED'],
      reason: 'failed: up',
      reverted: true,
      version: null,
      sha: shaB,
    });
  });

  it('tells the revert of an apply that was cut short, without an outcome', () => {
    const decisions = [{ word: 'interrupted-reverted', sha: shaA, state: 's', at_ms: 0 }] as const;
    expect(entry('failed', { codes: ['INTERNAL'], decisions: [...decisions] }, { outcome: null })).toMatchObject({
      ...{ reverted: true, healed: false, reason: 'INTERNAL' },
    });
  });

  it('tells which services were healed, and no reason of a recovery', () => {
    const outcome = { lines: [], reason: 'healed:web', reverted: false };
    expect(entry('converged', { decisions: [desired('drift:web')] }, { outcome })).toMatchObject({
      ...{ healed: true, reason: 'services were unhealthy: web' },
    });
    expect(entry('converged', { decisions: [desired('')] }).reason).toBeNull();
  });

  it('is bounded', () => {
    const outcome = { lines: ['x'.repeat(9999)], reason: '', reverted: false };
    const { reason, signers } = entry('failed', {}, { outcome, signers: Array.from({ length: 99 }, String) });
    expect([reason?.length, signers.length]).toEqual([500, 16]);
  });
});

describe('a tick matters', () => {
  const unhold: HistoryEntry = { schema: 1, event: 'unhold', at };
  const offline = entry('offline');
  const refused = entry('refused', { codes: ['ENV_INCOMPLETE'], decisions: [desired('sha_changed')] });

  it.each<[string, HistoryEntry[]]>([
    ['applied', [entry('applied')]],
    ['bootstrapped', []],
    ['down', [entry('applied')]],
    ['failed', []],
    ['offline', [unhold, entry('applied')]],
    ['held', [offline]],
    ['converged', [unhold, offline]],
  ])('when it ended as %s after %j', (ending, history) => {
    expect(matters(entry(ending as Ending), history)).toBe(true);
  });

  it.each<[string, HistoryEntry[]]>([
    ['busy', []],
    ['stopped', []],
    ['paused', []],
    ['offlineLaptop', []],
    ['down', [entry('down')]],
    ['offline', [unhold, offline]],
    ['held', [entry('held')]],
    ['converged', []],
    ['converged', [entry('applied'), offline]],
    ['converged', [entry('held')]],
    ['converged', [{ ...offline, ending: 'asleep' as Ending }]],
  ])('not when it ended as %s after %j', (ending, history) => {
    expect(matters(entry(ending as Ending), history)).toBe(false);
  });

  it('when it healed or reverted, and when its refusal is another one', () => {
    expect(matters({ ...entry('converged'), healed: true }, [])).toBe(true);
    expect(matters({ ...offline, reverted: true }, [offline])).toBe(true);
    expect(matters(refused, [refused])).toBe(false);
    expect(matters({ ...refused, codes: ['LEASE_SHAPE'] }, [refused])).toBe(true);
    expect(matters({ ...refused, sha: shaA }, [refused])).toBe(true);
  });
});

it.each([
  ['converged', true, '', true],
  ['converged', false, '', false],
  ['converged', true, 'drift:web', false],
  ['held', true, '', false],
] as const)(
  '%s after a quiet tick (%s), with the reason %j, is uneventful: %s',
  (ending, wasQuiet, reason, expected) => {
    expect(isUneventful(traceOf(ending, { decisions: [desired(reason)] }), wasQuiet)).toBe(expected);
  },
);
