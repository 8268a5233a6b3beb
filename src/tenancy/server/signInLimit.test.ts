import { countedAddress, RateLimiter } from '../core/limiter.ts';

const refusedFor = (retryAfterS: number) =>
  expect.objectContaining({ fields: expect.objectContaining({ status: 429, retryAfterS }) as object }) as Error;

describe('a rate limit', () => {
  it('refuses more than its limit until the window ends, and returns the time until then', () => {
    let now = 1000;
    const limiter = new RateLimiter({ times: 2, windowMs: 60_000 }, () => now);
    limiter.take('a');
    now += 30_000;
    limiter.take('a');
    expect(() => limiter.take('a')).toThrow(refusedFor(30));
    limiter.take('b');
    now += 29_999;
    expect(() => limiter.take('a')).toThrow(refusedFor(1));
    now += 1;
    limiter.take('a');
  });

  it('does not refuse calls because a clock went back', () => {
    let now = 3600_000;
    const limiter = new RateLimiter({ times: 1, windowMs: 60_000 }, () => now);
    limiter.take('a');
    now = 0;
    limiter.take('a');
    expect(() => limiter.take('a')).toThrow(refusedFor(60));
  });

  it('discards the oldest entry instead of growing without limit', () => {
    const limiter = new RateLimiter({ times: 1, windowMs: 60_000 }, () => 0);
    for (let index = 0; index < 10_000; index++) limiter.take(String(index));
    expect(() => limiter.take('0')).toThrow('too many');
    limiter.take('one more');
    limiter.take('0');
  });
});

describe('an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s is counted as %s', (address, counted) => {
    expect(countedAddress(address)).toBe(counted);
  });
});
