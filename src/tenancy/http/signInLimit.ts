import { isIPv6 } from 'node:net';
import { ApiError } from '../services/apiError.ts';

/** Most addresses or people that are counted at once; the one that was seen first is forgotten for one more. */
const MAX_KEYS = 10_000;

/** How many times something may be done in a window of time. */
export interface RateLimit {
  times: number;
  windowMs: number;
}

/** Counts what each address or person does in fixed windows of time, in this process. */
export class RateLimiter {
  readonly #counts = new Map<string, { since: number; count: number }>();
  readonly #limit: RateLimit;
  readonly #clock: () => number;

  constructor(limit: RateLimit, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Counts one more; throws 429 with the seconds until the window ends where that is too many. */
  take(key: string): void {
    const { times, windowMs } = this.#limit;
    const now = this.#clock();
    const known = this.#counts.get(key);
    // A clock that went back by more begins a new window, and no wait for the old time.
    const lasts = known !== undefined && Math.abs(now - known.since) < windowMs;
    const window = lasts ? known : { since: now, count: 0 };
    if (window !== known) this.#begin(key, window);
    window.count++;
    if (window.count <= times) return;
    const retryAfterS = Math.max(1, Math.ceil((window.since + windowMs - now) / 1000));
    throw new ApiError({
      status: 429,
      code: 'TOO_MANY_SIGN_INS',
      message: 'too many sign-ins; try again later',
      retryAfterS,
    });
  }

  #begin(key: string, window: { since: number; count: number }): void {
    this.#counts.delete(key);
    const [first] = this.#counts.keys();
    if (first !== undefined && this.#counts.size >= MAX_KEYS) this.#counts.delete(first);
    this.#counts.set(key, window);
  }
}

/** An address as it is counted: one customer has all of an IPv6 /64. */
export function countedAddress(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail?.split(':').filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4).join(':');
}
