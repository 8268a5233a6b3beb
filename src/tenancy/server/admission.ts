import type { FastifyInstance } from 'fastify';
import { overloaded } from '../core/apiError.ts';
import { type Lane, placesOf } from '../core/limiter.ts';

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
