import { isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { LookUpBearer } from '../keys/bearerCache.ts';
import { ApiError, overloaded } from './apiError.rules.ts';

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

/** Runs `work` when a place is free, in the order of the calls. */
export function createQueue(places: number): Limiter {
  let busy = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (busy < places) busy++;
    // The one that ends passes its place on.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) busy--;
      else next();
    }
  };
}

/** Refused look-ups of an address within a minute, after which it may guess tokens. */
const MANY_REFUSALS = 20;
const REFUSALS_MS = 60_000;
/** Largest share of the look-ups of one address. */
const ADDRESS_SHARE = 0.75;
/** Share of the look-ups for all addresses that may guess together. */
const GUESSING_SHARE = 0.1;
/** Number of addresses with refused look-ups that are counted; beyond it, counting begins again. */
const MAX_ADDRESSES = 10_000;

/** Runs a call of an address if a place is free for it; `isRefused` is true of an answer to a wrong credential. */
type CallLimiter = <Result>(
  address: string,
  work: () => Promise<Result>,
  isRefused: (result: Result) => boolean,
) => Promise<Result>;

/**
 * Limits the number of concurrent calls; throws 503 `OVERLOADED` for one more. No address takes all places, and addresses
 * with many refused calls share a few. Hosts behind one address do not count as such, even if all of them call at once.
 */
export function limitCalls(places: number, message: string, clock = () => performance.now()): CallLimiter {
  const limit = createLimiter(places, message);
  const limitGuessing = createLimiter(Math.max(1, Math.floor(places * GUESSING_SHARE)), message);
  const mostOfAddress = Math.max(1, Math.ceil(places * ADDRESS_SHARE));
  const busy = new Map<string, number>();
  const refusals = new Map<string, { since: number; count: number }>();
  const refusalsOf = (address: string) => {
    const known = refusals.get(address);
    return known !== undefined && clock() - known.since < REFUSALS_MS ? known : { since: clock(), count: 0 };
  };
  return async (address, work, isRefused) => {
    const isGuessing = refusalsOf(address).count >= MANY_REFUSALS;
    const ofAddress = busy.get(address) ?? 0;
    if (ofAddress >= mostOfAddress) throw overloaded(message);
    busy.set(address, ofAddress + 1);
    const call = () => limit(work);
    const result = await (isGuessing ? limitGuessing(call) : call()).finally(() => {
      const left = (busy.get(address) ?? 1) - 1;
      if (left === 0) busy.delete(address);
      else busy.set(address, left);
    });
    if (isRefused(result)) {
      if (refusals.size >= MAX_ADDRESSES) refusals.clear();
      const { since, count } = refusalsOf(address);
      refusals.set(address, { since, count: count + 1 });
    }
    return result;
  };
}

/** Limits the number of concurrent bearer look-ups by the address of the caller. */
export function limitLookUps(lookUp: LookUpBearer, places: number, clock?: () => number): LookUpBearer {
  const limit = limitCalls(places, 'too many bearer tokens are being looked up', clock);
  return (bearer, address = '') =>
    limit(
      address,
      () => lookUp(bearer, address),
      (identity) => identity === null,
    );
}

/**
 * Groups of requests with separate limits; no group can use the places of another. Downloads take long. Event streams
 * take long and are mostly idle. Pushes also take space on the disk. Anybody may read the public documents.
 */
export type Lane = 'agent' | 'download' | 'operator' | 'stream' | 'push' | 'public';

/**
 * Share of the concurrent requests. Most belong to agents, and operators always have some, however many agents call.
 * Streams, pushes and documents are counted in addition.
 */
const shares: Record<Lane, number> = {
  ...{ agent: 0.7, download: 0.2, operator: 0.1 },
  ...{ stream: 0.25, push: 0.02, public: 0.25 },
};
/**
 * Largest number of concurrent requests of one caller: a host, a token, a person with all of their sessions, or the
 * address of a stranger.
 */
const placesOfCaller: Record<Lane, number> = { agent: 8, download: 4, operator: 20, stream: 10, push: 2, public: 32 };
/** The callers who alone get the rest of a lane, and the share of its places that all other callers can take. */
const reserves: Partial<Record<Lane, { for: CallerKind; others: number }>> = {
  download: { for: 'host', others: 0.5 },
  operator: { for: 'admin', others: 0.75 },
  stream: { for: 'admin', others: 0.75 },
  push: { for: 'admin', others: 0.75 },
};
/** Share of the agents' places. */
const LOOK_UP_SHARE = 0.5;

/** A caller, whose requests are counted together. */
export interface CountedCaller {
  /** Unique among callers of all kinds. */
  readonly key: string;
  readonly kind: CallerKind;
}
type CallerKind = 'host' | 'admin' | 'operator' | 'stranger';

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

/** Limits concurrent requests, also of each caller; answers further ones with 503 before reading their bodies. */
export class Admission {
  readonly counts: Readonly<Record<Lane, AdmissionCounts>>;
  /** Requests in progress by lane and caller, or by lane and `others` for all who have no reserve. */
  readonly #busy = new Map<string, number>();

  constructor(maxRequests: number) {
    const count = (lane: Lane) => ({ places: placesOf(lane, maxRequests), busy: 0, refused: 0 });
    this.counts = {
      agent: count('agent'),
      download: count('download'),
      operator: count('operator'),
      stream: count('stream'),
      push: count('push'),
      public: count('public'),
    };
  }

  /**
   * Holds a place from the authentication until the answer is sent or the caller disconnects. Callers without a valid
   * token have none.
   */
  guard(app: FastifyInstance, callerOf: (request: FastifyRequest) => CountedCaller | null): void {
    app.addHook('preParsing', (request, reply, payload, done) => {
      const { lane } = request.routeOptions.config;
      const caller = callerOf(request);
      if (lane === undefined || caller === null || reply.raw.destroyed) {
        done(null, payload);
        return;
      }
      const counts = this.counts[lane];
      const groups = this.#groupsOf(lane, caller);
      if (counts.busy >= counts.places || groups.some(({ name, places }) => this.#busyOf(name) >= places)) {
        counts.refused++;
        done(overloaded('too many requests at once'));
        return;
      }
      const add = (number: number) => {
        counts.busy += number;
        for (const { name } of groups) this.#add(name, number);
      };
      add(1);
      reply.raw.once('close', () => add(-1));
      done(null, payload);
    });
  }

  #groupsOf(lane: Lane, { key, kind }: CountedCaller): { name: string; places: number }[] {
    const { places } = this.counts[lane];
    const reserve = reserves[lane];
    const own = { name: `${lane} ${key}`, places: Math.min(places, placesOfCaller[lane]) };
    if (reserve === undefined || reserve.for === kind) return [own];
    return [own, { name: `${lane} others`, places: Math.max(1, Math.floor(places * reserve.others)) }];
  }

  #busyOf(name: string): number {
    return this.#busy.get(name) ?? 0;
  }

  #add(name: string, number: number): void {
    const busy = this.#busyOf(name) + number;
    if (busy === 0) this.#busy.delete(name);
    else this.#busy.set(name, busy);
  }
}

/** Largest number of addresses or people that are counted at once; one more replaces the oldest. */
const MAX_KEYS = 10_000;

/** Number of actions that are allowed in a time window, and the error of one more. */
interface RateLimit {
  times: number;
  windowMs: number;
  error?: { code: string; message: string };
}

const tooManySignIns = { code: 'TOO_MANY_SIGN_INS', message: 'too many sign-ins; try again later' };

/** Counts actions of each address or person in fixed time windows, in this process. */
export class RateLimiter {
  readonly #counts = new Map<string, { since: number; count: number }>();
  readonly #limit: RateLimit;
  readonly #clock: () => number;

  constructor(limit: RateLimit, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Counts one more action; throws 429 with the seconds until the window ends if there are too many. */
  take(key: string): void {
    const { times, windowMs, error = tooManySignIns } = this.#limit;
    const now = this.#clock();
    const known = this.#counts.get(key);
    // If the clock went back by more than a window, start a new window instead of waiting for the old time.
    const lasts = known !== undefined && Math.abs(now - known.since) < windowMs;
    const window = lasts ? known : { since: now, count: 0 };
    if (window !== known) this.#begin(key, window);
    window.count++;
    if (window.count <= times) return;
    const retryAfterS = Math.max(1, Math.ceil((window.since + windowMs - now) / 1000));
    throw new ApiError({ status: 429, ...error, retryAfterS });
  }

  #begin(key: string, window: { since: number; count: number }): void {
    this.#counts.delete(key);
    const [first] = this.#counts.keys();
    if (first !== undefined && this.#counts.size >= MAX_KEYS) this.#counts.delete(first);
    this.#counts.set(key, window);
  }
}

/** Address to count by: an IPv6 /64 counts as one address, because one customer has all of it. */
export function countedAddress(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail?.split(':').filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4).join(':');
}
