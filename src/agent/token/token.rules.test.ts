import { unknownTokenStatus } from '../state/state.rules.ts';
import { expiresSoon, issuedTokenStatus, needsNewLease, renewedTokenStatus } from './token.rules.ts';

const now = new Date('2026-11-21T12:00:00.000Z');

describe('the lifetime of the token (spec §11.3)', () => {
  it.each([
    ['a full renewal', { ttlS: 3600, renewable: true }, 3600, false],
    ['half of the creation TTL is still enough', { ttlS: 1800, renewable: true }, 3600, false],
    ['capped under half of the creation TTL', { ttlS: 1799, renewable: true }, 3600, true],
    ['under two intervals', { ttlS: 119, renewable: true }, 100, true],
    ['not renewable', { ttlS: 3600, renewable: false }, 3600, true],
    ['creation TTL unknown', { ttlS: 120, renewable: true }, null, false],
  ])('%s', (_, life, creation, expected) => {
    expect(needsNewLease(life, creation, 60)).toBe(expected);
  });

  it('is at risk with less than two intervals left', () => {
    const standing = issuedTokenStatus({ ttlS: 120, renewable: true }, now);
    expect(expiresSoon(standing, 60, now)).toBe(false);
    expect(expiresSoon(standing, 60, new Date(now.getTime() + 1000))).toBe(true);
  });

  it('is at risk when more than its whole lifetime is left, because the clock was set back', () => {
    const standing = issuedTokenStatus({ ttlS: 3600, renewable: true }, now);
    expect(expiresSoon(standing, 60, new Date(now.getTime() - 1000))).toBe(true);
  });

  it('is not at risk while its end or its whole lifetime is unknown', () => {
    const unknown = unknownTokenStatus();
    expect(unknown).toEqual({ expires_at: null, renewable: false, creation_ttl_s: null, trouble: null });
    expect(expiresSoon(unknown, 60, now)).toBe(false);
    expect(expiresSoon({ ...unknown, expires_at: '2026-11-21T12:02:00.000Z' }, 60, now)).toBe(false);
  });

  it('records the longest lifetime it was given', () => {
    const first = issuedTokenStatus({ ttlS: 3600, renewable: true }, now);
    expect(renewedTokenStatus(first, { ttlS: 900, renewable: true }, now).creation_ttl_s).toBe(3600);
  });
});
