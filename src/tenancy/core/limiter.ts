import type { FastifyInstance } from 'fastify';
import type { LookUpBearer } from '../keys/bearerCache.ts';
import { overloaded } from './apiError.rules.ts';

/** Runs `work` if a place is free; otherwise throws 503 `OVERLOADED`. */
export type Limiter = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Limits the number of concurrent calls; refuses further ones with the message. */
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

/** Limits the number of concurrent bearer look-ups; throws 503 `OVERLOADED` for one more. */
export function limitLookUps(lookUp: LookUpBearer, places: number): LookUpBearer {
  const limit = createLimiter(places, 'too many bearer tokens are being looked up');
  return (bearer) => limit(() => lookUp(bearer));
}

/**
 * Groups of requests with separate limits: agents' calls, downloads (which take long), operators, and event streams,
 * which take long and are mostly idle. No group can use the places of another.
 */
export type Lane = 'agent' | 'download' | 'operator' | 'stream';

/**
 * Share of the concurrent requests. Most belong to agents, and operators always have some, however many agents call.
 * Streams are counted in addition.
 */
const shares: Record<Lane, number> = { agent: 0.7, download: 0.2, operator: 0.1, stream: 0.25 };
/** Share of the agents' places. */
const LOOK_UP_SHARE = 0.5;

/** Number of concurrent requests of a lane, given the number for all lanes. */
function placesOf(lane: Lane, maxRequests: number): number {
  return Math.max(1, Math.floor(maxRequests * shares[lane]));
}

/**
 * Largest number of concurrent bearer look-ups. While the secretstore does not answer, the other places remain free for
 * known hosts.
 */
export function lookUpPlaces(maxRequests: number): number {
  return Math.max(1, Math.floor(placesOf('agent', maxRequests) * LOOK_UP_SHARE));
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The lane of a route; without it the route is not limited. */
    lane?: Lane;
  }
}

/** Requests in progress, and requests refused since the start, by lane. */
export interface AdmissionCounts {
  readonly places: number;
  busy: number;
  refused: number;
}

/** Limits concurrent requests; answers further ones with 503 before reading them. */
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

  /** Holds a place until the answer is sent or the caller disconnects. */
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
