/** What a login or a renewal says of a token's life. */
export interface GrantedLife {
  ttlS: number;
  renewable: boolean;
}

/** What state.json keeps of the token: never the token. */
export interface TokenStanding {
  /** RFC 3339, UTC; null when that was not seen. */
  expires_at: string | null;
  renewable: boolean;
  /** Seconds it was given at its creation; null when that was not seen. */
  creation_ttl_s: number | null;
  /** What went wrong when it was last kept alive, null when nothing did. */
  trouble: string | null;
  /** Why a grant that lies there is not taken; absent when none is refused. */
  grant_refused?: string;
}

/** The standing of a token of which nothing was seen yet. */
export function unknownStanding(): TokenStanding {
  return { expires_at: null, renewable: false, creation_ttl_s: null, trouble: null };
}

/** The standing of a token that has just been issued. */
export function tokenStanding({ ttlS, renewable }: GrantedLife, now: Date): TokenStanding {
  return { expires_at: later(now, ttlS), renewable, creation_ttl_s: ttlS, trouble: null };
}

/** The standing after a renewal. */
export function renewedStanding(before: TokenStanding, life: GrantedLife, now: Date): TokenStanding {
  const creation = Math.max(before.creation_ttl_s ?? 0, life.ttlS);
  return { ...before, ...tokenStanding(life, now), creation_ttl_s: creation };
}

/** True when renewing leads nowhere any more and a new lease is due (spec §11). */
export function mustLeaseAnew(life: GrantedLife, creationTtlS: number | null, intervalS: number): boolean {
  return !life.renewable || life.ttlS < Math.max(2 * intervalS, (creationTtlS ?? 0) / 2);
}

/**
 * True when less than two intervals of life are left: the next ticks may find it dead. Nobody knows of one that would have
 * more than its whole life left: the clock was set back since.
 */
export function isAtRisk({ expires_at, creation_ttl_s }: TokenStanding, intervalS: number, now: Date): boolean {
  if (expires_at === null) return false;
  const leftS = (Date.parse(expires_at) - now.getTime()) / 1000;
  return leftS < 2 * intervalS || (creation_ttl_s !== null && leftS > creation_ttl_s);
}

function later(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * 1000).toISOString();
}
