import { supersededFault, recordGrantRefusal } from './bootstrap.ts';
import { isRefused, tryCandidate } from './candidateToken.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Makes the first authenticated call of a tick. Only the tenancy service knows whether a grant is superseded (spec §11): the
 * candidate token of the grant is tried first; if it is refused, the stored token is used and kept. Throws the refusal of
 * the grant when the stored token is refused too.
 */
export async function callAuthenticated<T>(
  deps: Dependencies,
  call: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { tick, vault } = deps;
  const candidate = vault.candidateToken();
  if (candidate === null) return call().catch((error: unknown) => throwRefusal(tick.grantRefusal, error));
  const result = await tryCandidate(deps, { candidate, call }, signal);
  if ('answer' in result) return result.answer;
  const answer = await call().catch((error: unknown) => throwRefusal(result.refusal, error));
  await recordGrantRefusal(deps, supersededFault());
  return answer;
}

/** Throws the first refusal when the stored token is refused as well. */
function throwRefusal(refusal: unknown, error: unknown): never {
  throw isRefused(error) && refusal !== null ? refusal : error;
}
