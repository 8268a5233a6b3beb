import { checked, unseen, type Check, type FileFacts, type Finding, type Host } from './doctor.ts';
import type { Known } from '../plan/plan.ts';
import type { Lookup } from '../errors/secretstoreErrors.ts';

/** The token as it lies on the disk and as the secretstore sees it, and the grant that could bring a new one. */
export interface TokenFacts {
  token: Known<{ present: boolean; seen: Known<Lookup> }>;
  grant: FileFacts;
  /** Of the grant, null when it names none. */
  grantExpires: Date | null;
  env: string | null;
  intervalS: number;
}

/** There, alive, of this env, with enough of its life left; and no grant waits in vain (spec §11). */
export function judgeToken(facts: TokenFacts, host: Host): Check {
  const { token, grant } = facts;
  const name = 'token';
  if ('unknown' in token) return unseen(name, token.unknown);
  const renew = renewal(grant.path, host);
  const waiting = grant.found === null || grant.found === 'hidden' ? [] : grantFindings(facts, host);
  if (!token.is.present) {
    const absent = grant.found === null ? [{ what: 'token ABSENT, and no bootstrap grant', fix: renew }] : [];
    const unused =
      absent.length + waiting.length === 0 ? [{ what: 'token ABSENT', fix: 'sudo deployd bootstrap' }] : [];
    return checked(name, 'absent', [...absent, ...unused, ...waiting]);
  }
  const found = [...lifeFindings(facts, { host, renew }), ...rememberedFindings(host, renew), ...waiting];
  return checked(name, toldOf(token.is.seen, host), found);
}

/** When a grant ends by its own words; null for one that does not say. */
export function expiryOf(jwt: string): Date | null {
  try {
    const { exp } = JSON.parse(atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) as {
      exp?: unknown;
    };
    return typeof exp === 'number' ? new Date(exp * 1000) : null;
  } catch {
    return null;
  }
}

/** A grant comes from the install kit; revealing the kit again makes a new one. */
function renewal(path: string, { agent: { name } }: Host): string {
  return `sudo install -m 0600 -o ${name} -g ${name} NEW-GRANT ${path} && sudo deployd bootstrap`;
}

function lifeFindings(facts: TokenFacts, { host, renew }: { host: Host; renew: string }): Finding[] {
  const { token, env, intervalS } = facts;
  if ('unknown' in token) return [];
  const { seen } = token.is;
  if ('unknown' in seen) {
    const expires = recordedEnd(host);
    return expires !== null && expires < host.now
      ? [{ what: `the token expired at ${expires.toISOString()}`, fix: renew }]
      : [];
  }
  if ('denied' in seen.is) return [unfit];
  if (seen.is.dead) return [{ what: 'the secretstore does not know the token any more', fix: renew }];
  const { ttlS, expireTime, env: theirs } = seen.is;
  const findings: Finding[] = [];
  if (expireTime !== null && ttlS < 2 * intervalS)
    findings.push({ what: `the token ends in ${ttlS} s`, fix: 'sudo deployd run --once' });
  if (theirs !== null && env !== null && theirs !== env)
    findings.push({ what: `the token belongs to env ${theirs}, config.yaml says ${env}`, fix: renew });
  return findings;
}

/** A role of the secretstore that leaves out the policy `default` gives such tokens. */
const unfit: Finding = {
  what: 'no policy lets the token look itself up; the policy default of the secretstore does',
  fix: 'bao read auth/jwt-tenancy/role/ROLE',
};

/** What the last ticks met. */
function rememberedFindings({ state }: Host, renew: string): Finding[] {
  if ('unknown' in state || state.is === null) return [];
  const { token, last_outcome } = state.is;
  const refused = last_outcome?.code === 'AGENT_UNAUTHENTICATED';
  return [
    ...(refused ? [{ what: `the tenancy service refused the token at ${last_outcome.at}`, fix: renew }] : []),
    ...(token.trouble !== null ? [{ what: `it was not renewed: ${token.trouble}`, fix: 'sudo deployd trace' }] : []),
  ];
}

function grantFindings({ grant, grantExpires }: TokenFacts, host: Host): Finding[] {
  const { now, state } = host;
  if (grantExpires !== null && grantExpires < now)
    return [{ what: `the grant expired at ${grantExpires.toISOString()}`, fix: renewal(grant.path, host) }];
  const known = 'is' in state ? state.is : null;
  if (known?.token.grant_refused !== undefined)
    return [{ what: `the grant is not taken: ${known.token.grant_refused}`, fix: `sudo rm ${grant.path}` }];
  const lastTick = known?.last_outcome?.at ?? null;
  const placed = grant.found !== null && grant.found !== 'hidden' ? grant.found.mtime : now;
  return lastTick !== null && new Date(lastTick) > placed
    ? [{ what: `ticks have left the grant ${grant.path} where it is`, fix: 'sudo deployd bootstrap' }]
    : [];
}

function recordedEnd({ state }: Host): Date | null {
  const at = 'is' in state ? (state.is?.token.expires_at ?? null) : null;
  return at === null ? null : new Date(at);
}

function toldOf(seen: Known<Lookup>, host: Host): string {
  if ('unknown' in seen) {
    const recorded = recordedEnd(host);
    return recorded === null ? 'present' : `present, until ${recorded.toISOString()}`;
  }
  if ('denied' in seen.is) return 'present, may not look itself up';
  if (seen.is.dead) return 'dead';
  return seen.is.expireTime === null ? 'alive, without end' : `alive, until ${seen.is.expireTime}`;
}
