import {
  type Check,
  checkResult,
  type Fact,
  type FileFacts,
  type Finding,
  inapplicableCheck,
  unknownCheck,
} from '../../../core/doctor.rules.ts';
import type { CheckContext } from './checkContext.ts';
import type { TokenLookup } from '../secretstore/secretstoreResponse.ts';

/** Facts of the token on disk, its lookup at the secretstore, and the bootstrap grant. */
export interface TokenFacts {
  token: Fact<{ present: boolean; lookup: Fact<TokenLookup> }>;
  grant: FileFacts;
  /** Expiry of the grant, null without one. */
  grantExpiry: Date | null;
  env: string | null;
  intervalS: number;
  /** A laptop may be where the secretstore is out of reach. */
  laptop: boolean;
}

/** Checks that the token is present, valid, of this env and not about to expire, and that no grant stays unused (spec §11). */
export function checkToken(facts: TokenFacts, context: CheckContext): Check {
  const { token, grant } = facts;
  const name = 'token';
  if ('unknown' in token) return unknownCheck(name, token.unknown);
  const renew = renewalCommand(grant.path, context);
  const waiting = grantFindings(facts, context);
  if (!token.known.present) {
    const absent =
      grant.found === null
        ? { problem: 'token ABSENT, and no bootstrap grant', fix: renew }
        : { problem: 'token ABSENT', fix: 'sudo deployd bootstrap' };
    return checkResult(name, 'absent', waiting.length > 0 ? waiting : [absent]);
  }
  const { lookup } = token.known;
  const found = [...lifeFindings(lookup, facts, { context, renew }), ...recordedFindings(context, renew), ...waiting];
  const detail = describeToken(lookup, context);
  if ('known' in lookup || found.length > 0) return checkResult(name, detail, found);
  return (facts.laptop ? inapplicableCheck : unknownCheck)(name, `${detail}; not looked up: ${lookup.unknown}`);
}

/** Expiry in the claims of a JWT; null without one. */
export function jwtExpiryOf(jwt: string): Date | null {
  try {
    const { exp } = JSON.parse(atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) as {
      exp?: unknown;
    };
    return typeof exp === 'number' ? new Date(exp * 1000) : null;
  } catch {
    return null;
  }
}

/** The grant comes from the install kit; revealing the kit again creates a new one. */
function renewalCommand(path: string, { agent: { name } }: CheckContext): string {
  return `sudo install -m 0600 -o ${name} -g ${name} NEW-GRANT ${path} && sudo deployd bootstrap`;
}

function lifeFindings(
  lookup: Fact<TokenLookup>,
  { env, intervalS }: Pick<TokenFacts, 'env' | 'intervalS'>,
  { context, renew }: { context: CheckContext; renew: string },
): Finding[] {
  if ('unknown' in lookup) {
    const expires = recordedExpiry(context);
    return expires !== null && expires < context.now
      ? [{ problem: `the token expired at ${expires.toISOString()}`, fix: renew }]
      : [];
  }
  if ('denied' in lookup.known) return [lookupDenied];
  if (lookup.known.dead) return [{ problem: 'the secretstore does not know the token any more', fix: renew }];
  const { ttlS, expireTime, env: tokenEnv } = lookup.known;
  const findings: Finding[] = [];
  if (expireTime !== null && ttlS < 2 * intervalS)
    findings.push({ problem: `the token ends in ${ttlS} s`, fix: 'sudo deployd run --once' });
  if (tokenEnv !== null && env !== null && tokenEnv !== env)
    findings.push({ problem: `the token belongs to env ${tokenEnv}, config.yaml says ${env}`, fix: renew });
  return findings;
}

/** Occurs when the token's role in the secretstore lacks the policy `default`. */
const lookupDenied: Finding = {
  problem: 'no policy lets the token look itself up; the policy default of the secretstore does',
  fix: 'bao read auth/jwt-tenancy/role/ROLE',
};

/** Findings of the last ticks, from the state. */
function recordedFindings({ state }: CheckContext, renew: string): Finding[] {
  if ('unknown' in state || state.known === null) return [];
  const { token, last_outcome } = state.known;
  const refused = last_outcome?.code === 'AGENT_UNAUTHENTICATED';
  return [
    ...(refused ? [{ problem: `the tenancy service refused the token at ${last_outcome.at}`, fix: renew }] : []),
    ...(token.trouble !== null ? [{ problem: `it was not renewed: ${token.trouble}`, fix: 'sudo deployd trace' }] : []),
  ];
}

function grantFindings({ grant, grantExpiry }: TokenFacts, context: CheckContext): Finding[] {
  const { now, state } = context;
  if (grant.found === null || grant.found === 'hidden') return [];
  if (grantExpiry !== null && grantExpiry < now)
    return [{ problem: `the grant expired at ${grantExpiry.toISOString()}`, fix: renewalCommand(grant.path, context) }];
  const known = 'known' in state ? state.known : null;
  if (known?.token.grant_refused !== undefined)
    return [{ problem: `the grant is not taken: ${known.token.grant_refused}`, fix: `sudo rm ${grant.path}` }];
  const lastTick = new Date(known?.last_outcome?.at ?? 0);
  return lastTick > grant.found.mtime
    ? [{ problem: `ticks have left the grant ${grant.path} where it is`, fix: 'sudo deployd bootstrap' }]
    : [];
}

function recordedExpiry({ state }: CheckContext): Date | null {
  const at = 'known' in state ? (state.known?.token.expires_at ?? null) : null;
  return at === null ? null : new Date(at);
}

function describeToken(lookup: Fact<TokenLookup>, context: CheckContext): string {
  if ('unknown' in lookup) {
    const recorded = recordedExpiry(context);
    return recorded === null ? 'present' : `present, until ${recorded.toISOString()}`;
  }
  if ('denied' in lookup.known) return 'present, may not look itself up';
  if (lookup.known.dead) return 'dead';
  return lookup.known.expireTime === null ? 'alive, without end' : `alive, until ${lookup.known.expireTime}`;
}
