import { PeerError } from './bundleStorage.ts';

/** A token as a login gives it. */
export interface IssuedToken {
  token: string;
  accessor: string;
  ttlS: number;
}

/** The service's own token, which is in memory only. */
export interface ServiceSession {
  /**
   * Calls with the token; `attempt` resolves to undefined if the token was refused, and is then called again with a new
   * one. Throws `PeerError` if there is none, or if a new one is refused too.
   */
  use: <T>(attempt: (token: string) => Promise<T | undefined>) => Promise<T>;
  /** The token, null before the first login. */
  held: () => IssuedToken | null;
}

/** The next login takes place in this last part of a token's life. */
const LAST_PART = 1 / 3;
/** Refused tokens are replaced no oftener: behind a policy that is wrong every one would be refused. */
const REPLACED_EVERY_MS = 5000;

interface HeldToken extends IssuedToken {
  issuedAt: number;
  endsAt: number;
}

/**
 * Logs in on demand, shortly before the token's end and after it was refused; never twice at the same time. The clock
 * counts milliseconds and never goes back.
 */
export function createServiceSession(logIn: () => Promise<IssuedToken>, clock: () => number): ServiceSession {
  let held: HeldToken | null = null;
  let running: Promise<string> | null = null;
  let replacedAt = -Infinity;
  const hold = async () => {
    const issuedAt = clock();
    const issued = await logIn();
    held = { ...issued, issuedAt, endsAt: issuedAt + issued.ttlS * 1000 };
    return issued.token;
  };
  const renew = () => (running ??= hold().finally(() => (running = null)));
  const current = async () => {
    const now = clock();
    if (held === null || now >= held.endsAt) return renew();
    if (now >= held.endsAt - (held.endsAt - held.issuedAt) * LAST_PART) renew().catch(() => undefined);
    return held.token;
  };
  const replace = async (refused: string) => {
    if (held !== null && held.token !== refused) return held.token;
    if (running === null) {
      if (clock() - replacedAt < REPLACED_EVERY_MS) throw refusedService();
      replacedAt = clock();
    }
    return renew();
  };
  return {
    use: async (attempt) => {
      for (let token = await current(); ; token = await replace(token)) {
        const result = await attempt(token);
        if (result !== undefined) return result;
      }
    },
    held: () => held,
  };
}

function refusedService(): PeerError {
  const why = 'the service is refused although it has just logged in: see `deployd-tenancy secretstore plan`';
  return new PeerError('secretstore', why);
}
