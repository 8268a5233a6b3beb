import { superseded, tellRefusal } from './bootstrap.ts';
import { isRefused, show } from './candidate.ts';
import type { Tools } from '../tools.ts';

/**
 * The first call that shows a token to the tenancy service, which alone knows whether a grant is superseded (spec §11). The
 * candidate that a grant brought is shown first; where it is refused, the stored token is tried, and stays. Throws the refusal
 * of the grant where the stored token is refused too.
 */
export async function asBearer<T>(tools: Tools, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const { tick, vault } = tools;
  const candidate = vault.candidate();
  if (candidate === null) return call().catch((error: unknown) => throwRefusal(tick.grantRefusal, error));
  const shown = await show(tools, { candidate, call }, signal);
  if ('answer' in shown) return shown.answer;
  const answer = await call().catch((error: unknown) => throwRefusal(shown.refusal, error));
  await tellRefusal(tools, superseded());
  return answer;
}

/** Of a stored token that is refused as well, what was first refused is told. */
function throwRefusal(refusal: unknown, error: unknown): never {
  throw isRefused(error) && refusal !== null ? refusal : error;
}
