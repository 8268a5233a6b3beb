import type { FastifyInstance } from 'fastify';
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

/**
 * Who competes for places: agents' calls, downloads (which last), operators, and streams of events, which last and mostly wait.
 * Nobody takes the places of others.
 */
export type Lane = 'agent' | 'download' | 'operator' | 'stream';

/**
 * Share of the requests that are worked on. Most belong to agents; operators always have some, however many agents call. Streams
 * come on top of them.
 */
const shares: Record<Lane, number> = { agent: 0.7, download: 0.2, operator: 0.1, stream: 0.25 };
/** Share of the places of agents. */
const LOOK_UP_SHARE = 0.5;

/** Requests of a lane that are worked on at once, of so many of all lanes. */
function placesOf(lane: Lane, maxRequests: number): number {
  return Math.max(1, Math.floor(maxRequests * shares[lane]));
}

/** Bearers that are looked up at once: while the secretstore is silent, the other places are left to hosts that are known. */
export function lookUpPlaces(maxRequests: number): number {
  return Math.max(1, Math.floor(placesOf('agent', maxRequests) * LOOK_UP_SHARE));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which places a route takes; none without it. */
    lane?: Lane;
  }
}

/** Requests that are worked on, and those that were refused since the start, by lane. */
export interface AdmissionCounts {
  readonly places: number;
  busy: number;
  refused: number;
}

/** Limits the requests that are worked on at once; more are answered 503 before anything is read of them. */
export class Admission {
  readonly counts: Readonly<Record<Lane, AdmissionCounts>>;

  constructor(maxRequests: number) {
    const count = (lane: Lane) => ({ places: placesOf(lane, maxRequests), busy: 0, refused: 0 });
    this.counts = {
      agent: count('agent'),
      download: count('download'),
      operator: count('operator'),
      stream: count('stream'),
    };
  }

  /** Takes a place until the answer is sent or the caller is gone. */
  guard(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      const { lane } = request.routeOptions.config;
      const counts = lane && this.counts[lane];
      if (counts && counts.busy >= counts.places) {
        counts.refused++;
        done(overloaded('too many requests at once'));
        return;
      }
      if (counts) {
        counts.busy++;
        reply.raw.once('close', () => counts.busy--);
      }
      done();
    });
  }
}
