import type { LookUpBearer } from '../../credentials/bearerCache.ts';
import { createLimiter } from '../limiter.ts';

/** Looks up at most so many bearers at once; throws 503 `OVERLOADED` for one more. */
export function limitLookUps(lookUp: LookUpBearer, places: number): LookUpBearer {
  const limit = createLimiter(places, 'too many bearers are looked up at once');
  return (bearer) => limit(() => lookUp(bearer));
}
