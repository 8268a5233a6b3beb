import { callBackoffMs, type CallError } from './classifyError.rules.ts';

const call = { peer: 'tenancy', origin: 'https://t.example', operation: 'check-in' } as const;
const silent = { code: null, text: null, retryAfterS: null };
const answered = (status: number): CallError => ({ ...call, status, ...silent });
const failed = (error: string): CallError => ({ ...call, error });

describe('the backoff of a call', () => {
  test('grows and has jitter', () => {
    expect(callBackoffMs(failed('ECONNRESET'), 1, 0)).toBe(125);
    expect(callBackoffMs(failed('ECONNRESET'), 1, 0.5)).toBe(250);
    expect(callBackoffMs(failed('ECONNRESET'), 2, 0.5)).toBe(500);
  });

  test('allows two retries', () => {
    expect(callBackoffMs(failed('ECONNRESET'), 3, 0)).toBeNull();
  });

  test('is at least the Retry-After, up to ten seconds', () => {
    expect(callBackoffMs({ ...call, status: 503, ...silent, retryAfterS: 10 }, 1, 0)).toBeGreaterThanOrEqual(10_000);
    expect(callBackoffMs({ ...call, status: 503, ...silent, retryAfterS: 11 }, 1, 0)).toBeNull();
  });

  test('prolongs the Retry-After by up to its own length', () => {
    const asked = { ...call, status: 503, ...silent, retryAfterS: 4 };
    expect(callBackoffMs(asked, 1, 0.5)).toBe(4000 + 2000 + 250);
  });

  test('allows no retry of a permanent error', () => {
    expect(callBackoffMs(answered(401), 1, 0)).toBeNull();
    expect(callBackoffMs(failed('STOPPED'), 1, 0)).toBeNull();
  });
});
