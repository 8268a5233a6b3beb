import { SignInError, type IdentityProvider, type KnownPerson } from '../../adapters/oidc/identityProvider.ts';
import { PeerError } from '../../adapters/peerError.ts';
import { groupsOf, knownGroups } from '../../rules/person.ts';
import { groupsAge, RECHECK_GRACE_MS } from '../../rules/sessionLife.ts';
import type { SessionRow } from '../../store/database.ts';
import { claimSession, updateSession } from '../../store/sessions.ts';
import type { Dependencies } from '../dependencies.ts';
import { endByService } from './endSession.ts';

/** Milliseconds after which a provider that could not be used is asked again. */
const RETRY_MS = 5000;

/** The name under which a refresh token is sealed. */
export const refreshTokenSeal = (id: string) => `refresh token of ${id}`;

/**
 * A session with groups that the provider has told within `session.recheck_s`: where they are older, one instance asks and
 * keeps the answer, and others go on with what is known for 30 s. Null if the provider refuses, which ends the session.
 * Throws PeerError if it cannot be used; the session stays, and is of use again when the provider is.
 */
export async function withCurrentGroups(
  deps: Dependencies,
  provider: IdentityProvider,
  row: SessionRow,
): Promise<SessionRow | null> {
  const now = deps.clock();
  const age = groupsAge(row, deps.settings.session, now);
  if (age === 'known') return row;
  if (await claimSession(deps.store, row.id, { now, longestMs: RECHECK_GRACE_MS })) return recheck(deps, provider, row);
  if (age === 'due') return row;
  throw new PeerError('identity provider', 'it is being asked for the groups of a session');
}

async function recheck(deps: Dependencies, provider: IdentityProvider, row: SessionRow): Promise<SessionRow | null> {
  const { store, clock, sealer } = deps;
  try {
    const refreshToken = openRefreshToken(deps, row);
    if (refreshToken === null) return await end(deps, row, 'RECHECK_IMPOSSIBLE');
    const person = await provider.refresh(refreshToken, row.subject);
    const groups = JSON.stringify(groupsIn(deps, person));
    const sealed_refresh_token = sealer.seal(refreshTokenSeal(row.id), person.refreshToken ?? refreshToken);
    const changes = { groups, sealed_refresh_token, checked_at: clock(), claimed_until: 0 };
    await updateSession(store, row.id, changes);
    return { ...row, ...changes };
  } catch (error) {
    if (error instanceof SignInError) return end(deps, row, error.reason === 'denied' ? 'DENIED' : 'SIGN_IN_INVALID');
    await updateSession(store, row.id, { claimed_until: clock() + RETRY_MS });
    throw error;
  }
}

function openRefreshToken({ sealer }: Dependencies, { id, sealed_refresh_token: sealed }: SessionRow): string | null {
  return sealed && sealer.unseal(refreshTokenSeal(id), sealed);
}

/** The groups of a person that have a role; throws SignInError if the claim is no list of texts. */
export function groupsIn({ settings }: Pick<Dependencies, 'settings'>, { claims }: KnownPerson): string[] {
  const { groups_claim: claim, roles } = settings.oidc;
  const groups = groupsOf(claims, claim);
  if (groups === null) throw new SignInError('invalid', `the claim ${claim} is no list of texts`);
  return knownGroups(groups, roles);
}

async function end(deps: Dependencies, row: SessionRow, result: string): Promise<null> {
  await endByService(deps, row, result);
  return null;
}
