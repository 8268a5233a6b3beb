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
