import type { LookUpBearer } from '../../credentials/bearerCache.ts';
import { overloaded } from '../overloaded.ts';

/** Looks up at most so many bearers at once; throws 503 `OVERLOADED` for one more. */
export function limitLookUps(lookUp: LookUpBearer, places: number): LookUpBearer {
  let busy = 0;
  return async (bearer) => {
    if (busy >= places) throw overloaded('too many bearers are looked up at once');
    busy++;
    try {
      return await lookUp(bearer);
    } finally {
      busy--;
    }
  };
}
