import type { FailingBundle } from '../state/state.rules.ts';
import { recordFailure, secondsUntilRetry } from './backoff.rules.ts';

const now = new Date('2026-11-21T12:00:00.000Z');
const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

describe('the retry backoff of a failing bundle (spec §12.6)', () => {
  it('doubles from one minute to thirty', () => {
    const minutes: number[] = [];
    let failing: FailingBundle | null = null;
    for (let round = 0; round < 8; round++) {
      failing = recordFailure(failing, { sha: a, line: 'failed' }, now);
      minutes.push((Date.parse(failing.retry_at) - now.getTime()) / 60_000);
    }
    expect(minutes).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    expect(failing?.count).toBe(8);
  });

  it('restarts for another sha', () => {
    const first = recordFailure(recordFailure(null, { sha: a, line: '' }, now), { sha: a, line: '' }, now);
    expect(recordFailure(first, { sha: b, line: '' }, now).count).toBe(1);
  });

  it('applies only to the sha that failed, and only until its end', () => {
    const failing = recordFailure(null, { sha: a, line: '' }, now);
    expect(secondsUntilRetry(failing, a, now)).toBe(60);
    expect(secondsUntilRetry(failing, b, now)).toBe(0);
    expect(secondsUntilRetry(failing, a, new Date(now.getTime() + 60_000))).toBe(0);
    expect(secondsUntilRetry(null, a, now)).toBe(0);
  });

  it.each([
    ['a moment', 1000],
    ['ten years', 315_360_000_000],
  ])('ends when the clock was set back by %s', (_, byMs) => {
    const failing = recordFailure(null, { sha: a, line: '' }, now);
    expect(secondsUntilRetry(failing, a, new Date(now.getTime() - byMs))).toBe(0);
  });
});
