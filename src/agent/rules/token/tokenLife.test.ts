import { isAtRisk, mustLeaseAnew, renewedStanding, tokenStanding } from './tokenLife.ts';

const now = new Date('2026-11-21T12:00:00.000Z');

describe('the life of the token (spec §11.3)', () => {
  it.each([
    ['a full renewal', { ttlS: 3600, renewable: true }, 3600, false],
    ['half of the creation TTL is still enough', { ttlS: 1800, renewable: true }, 3600, false],
    ['capped under half of the creation TTL', { ttlS: 1799, renewable: true }, 3600, true],
    ['under two intervals', { ttlS: 119, renewable: true }, 100, true],
    ['not renewable', { ttlS: 3600, renewable: false }, 3600, true],
    ['creation TTL never seen', { ttlS: 120, renewable: true }, null, false],
  ])('%s', (_, life, creation, expected) => {
    expect(mustLeaseAnew(life, creation, 60)).toBe(expected);
  });

  it('is at risk with less than two intervals left', () => {
    const standing = tokenStanding({ ttlS: 120, renewable: true }, now);
    expect(isAtRisk(standing, 60, now)).toBe(false);
    expect(isAtRisk(standing, 60, new Date(now.getTime() + 1000))).toBe(true);
  });

  it('is at risk where it would have more than its whole life left, as the clock was set back', () => {
    const standing = tokenStanding({ ttlS: 3600, renewable: true }, now);
    expect(isAtRisk(standing, 60, new Date(now.getTime() - 1000))).toBe(true);
  });

  it('remembers the longest life it was given', () => {
    const first = tokenStanding({ ttlS: 3600, renewable: true }, now);
    expect(renewedStanding(first, { ttlS: 900, renewable: true }, now).creation_ttl_s).toBe(3600);
  });
});
