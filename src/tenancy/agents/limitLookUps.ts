import { createLimiter } from '../core/limiter.ts';
import type { LookUpBearer } from '../keys/bearerCache.ts';

/** Looks up at most so many bearers at once; throws 503 `OVERLOADED` for one more. */
export function limitLookUps(lookUp: LookUpBearer, places: number): LookUpBearer {
  const limit = createLimiter(places, 'too many bearers are looked up at once');
  return (bearer) => limit(() => lookUp(bearer));
}
