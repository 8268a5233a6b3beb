/** Lifetime of a token, from a login or a renewal. */
export interface TokenLifetime {
  ttlS: number;
  renewable: boolean;
}

/** The token's entry in state.json, which never contains the token. */
export interface TokenStatus {
  /** RFC 3339, UTC; null when unknown. */
  expires_at: string | null;
  renewable: boolean;
  /** Lifetime at its creation, in seconds; null when unknown. */
  creation_ttl_s: number | null;
  /** Error of the last renewal, null without one. */
  trouble: string | null;
  /** Why the bootstrap grant on disk is not used; absent when none is refused. */
  grant_refused?: string;
}

/** Status of a token that is not known yet. */
export function unknownTokenStatus(): TokenStatus {
  return { expires_at: null, renewable: false, creation_ttl_s: null, trouble: null };
}

/** Status of a token that was just issued. */
export function issuedTokenStatus({ ttlS, renewable }: TokenLifetime, now: Date): TokenStatus {
  return { expires_at: secondsLater(now, ttlS), renewable, creation_ttl_s: ttlS, trouble: null };
}

/** Status after a renewal. */
export function renewedTokenStatus(before: TokenStatus, lifetime: TokenLifetime, now: Date): TokenStatus {
  const creation = Math.max(before.creation_ttl_s ?? 0, lifetime.ttlS);
  return { ...before, ...issuedTokenStatus(lifetime, now), creation_ttl_s: creation };
}

/** True when renewal no longer extends the token enough, so that a new lease is due (spec §11). */
export function needsNewLease(lifetime: TokenLifetime, creationTtlS: number | null, intervalS: number): boolean {
  return !lifetime.renewable || lifetime.ttlS < Math.max(2 * intervalS, (creationTtlS ?? 0) / 2);
}

/**
 * True when less than two intervals are left, so that the token may expire before the next ticks. Also true when more than
 * its whole lifetime seems to be left: the clock was set back, and the real remaining time is unknown.
 */
export function expiresSoon({ expires_at, creation_ttl_s }: TokenStatus, intervalS: number, now: Date): boolean {
  if (expires_at === null) return false;
  const leftS = (Date.parse(expires_at) - now.getTime()) / 1000;
  return leftS < 2 * intervalS || (creation_ttl_s !== null && leftS > creation_ttl_s);
}

function secondsLater(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
