import type { LookUpBearer } from '../keys/bearerCache.ts';
import { overloaded } from './apiError.ts';

/** Does a work if there is a place for it; throws 503 `OVERLOADED` if not. */
export type Limiter = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Limits how many works are done at once; one more is refused with the message. */
export function createLimiter(places: number, message: string): Limiter {
  let busy = 0;
  return async (work) => {
    if (busy >= places) throw overloaded(message);
    busy++;
    try {
      return await work();
    } finally {
      busy--;
    }
  };
}

/** Looks up at most so many bearers at once; throws 503 `OVERLOADED` for one more. */
export function limitLookUps(lookUp: LookUpBearer, places: number): LookUpBearer {
  const limit = createLimiter(places, 'too many bearers are looked up at once');
  return (bearer) => limit(() => lookUp(bearer));
}
