import type { FastifyInstance } from 'fastify';
import { ApiError } from '../services/apiError.ts';

/** Who competes for places: agents' calls, downloads (which last), and operators. Nobody takes the places of others. */
export type Lane = 'agent' | 'download' | 'operator';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which places a route takes; none without it. */
    lane?: Lane;
  }
}

/** Share of all places. Most belong to agents; operators always have some, however many agents call. */
const shares: Record<Lane, number> = { agent: 0.7, download: 0.2, operator: 0.1 };
/** Callers that are refused are spread over so many seconds. */
const SPREAD_S = { from: 5, to: 60 };

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
    const lane = (share: number) => ({ places: Math.max(1, Math.floor(maxRequests * share)), busy: 0, refused: 0 });
    this.counts = { agent: lane(shares.agent), download: lane(shares.download), operator: lane(shares.operator) };
  }

  /** Takes a place until the answer is sent or the caller is gone. */
  guard(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      const { lane } = request.routeOptions.config;
      const counts = lane && this.counts[lane];
      if (counts && counts.busy >= counts.places) {
        counts.refused++;
        done(overloaded());
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

function overloaded(): ApiError {
  const { from, to } = SPREAD_S;
  const retryAfterS = from + Math.floor(Math.random() * (to - from + 1));
  return new ApiError({ status: 503, code: 'OVERLOADED', message: 'too many requests at once', retryAfterS });
}
