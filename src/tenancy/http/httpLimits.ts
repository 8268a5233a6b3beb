/** Limits against clients that are slow, silent or many. */
export interface HttpLimits {
  /** Milliseconds in which the head of a request must have arrived, the first one counted from the connection. */
  readonly headMs: number;
  /** Milliseconds in which a JSON body must have arrived. */
  readonly bodyMs: number;
  /** Milliseconds in which an archive must have arrived. */
  readonly uploadMs: number;
  /** Milliseconds that a connection is kept between two requests. */
  readonly idleMs: number;
  /** Milliseconds in which a byte must flow while a request is answered, so that who stops reading holds nothing. */
  readonly stallMs: number;
  /** Connections that are open at once; more are closed. */
  readonly connections: number;
}

/** The limits of a service; a connection is kept for longer than hosts pause between two ticks, and the judging of a large bundle is no stall. */
export const httpLimits: HttpLimits = {
  headMs: 10_000,
  bodyMs: 20_000,
  uploadMs: 30 * 60_000,
  idleMs: 75_000,
  stallMs: 5 * 60_000,
  connections: 50_000,
};
