import { Fault } from '../../../../machines/fault.ts';
import { unknownTokenStatus } from '../../rules/token/tokenStatus.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Calls the tenancy service with the candidate token of a grant (spec §11). If it is accepted, it replaces the stored token,
 * which is revoked; if it is refused, it is revoked and the refusal is returned. Other errors are thrown and leave both on
 * disk unchanged.
 */
export async function tryCandidate<T>(
  deps: Dependencies,
  { candidate, call }: { candidate: string; call: () => Promise<T> },
  signal: AbortSignal,
): Promise<{ answer: T } | { refusal: Fault }> {
  const { secretstore, vault } = deps;
  const stored = vault.token();
  vault.setToken(candidate);
  const result = await call().then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  vault.setToken(stored);
  if ('answer' in result) {
    await storeToken(deps, candidate);
    await removeUsedGrant(deps);
    await secretstore.revokeSelf(stored, signal).catch(() => undefined);
    return result;
  }
  if (!isRefused(result.error)) throw result.error;
  vault.setCandidateToken(null);
  await secretstore.revokeSelf(candidate, signal).catch(() => undefined);
  return { refusal: result.error };
}

/** True when the tenancy service refuses the bearer token, or the mesh refuses the identity. */
export function isRefused(error: unknown): error is Fault {
  return error instanceof Fault && error.ending === 'unauthenticated';
}

/** Stores a token as the token of the agent, on disk and in the vault. */
export async function storeToken({ credentials, state, tick, vault }: Dependencies, token: string): Promise<void> {
  await credentials.writeToken(token);
  vault.setToken(token);
  vault.setCandidateToken(null);
  await state.update({ token: tick.candidateStatus ?? unknownTokenStatus() });
}

/** Removes the grant file after the exchange. */
export async function removeUsedGrant({ credentials, tick }: Dependencies): Promise<void> {
  const warning = await credentials.removeGrant();
  if (warning !== null) tick.journal.warn(warning);
  tick.journal.info('token present: the bootstrap grant was exchanged');
}
