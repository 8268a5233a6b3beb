import { failure, Fault } from '../../machines/fault.ts';
import { adopt, tellRefusal } from './bootstrap.ts';
import type { Tools } from './tools.ts';

/**
 * The first call that shows a token to the tenancy service, which alone knows whether a grant is superseded (spec §11). The
 * candidate that a grant brought is shown first: taken, it is stored; refused, the stored token is tried, and stays. Any other
 * trouble leaves both on disk as they were. Throws the refusal of the grant where the stored token is refused too.
 */
export async function asBearer<T>(tools: Tools, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const { secretstore, tick, vault } = tools;
  const candidate = vault.candidate();
  if (candidate === null) return call().catch((error: unknown) => throwRefusal(tick.grantRefusal, error));
  const stored = vault.token();
  vault.holdToken(candidate);
  const first = await call().then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  vault.holdToken(stored);
  if ('answer' in first) {
    await adopt(tools, candidate, signal);
    return first.answer;
  }
  if (!isRefused(first.error)) throw first.error;
  vault.holdCandidate(null);
  await secretstore.revokeSelf(candidate, signal).catch(() => undefined);
  const answer = await call().catch((error: unknown) => throwRefusal(first.error, error));
  await tellRefusal(
    tools,
    failure('BOOTSTRAP_REFUSED', 'the tenancy service refuses its token: the grant was superseded'),
  );
  return answer;
}

function isRefused(error: unknown): boolean {
  return error instanceof Fault && error.ending === 'unauthenticated';
}

/** Of a stored token that is refused as well, what was first refused is told. */
function throwRefusal(refusal: unknown, error: unknown): never {
  throw isRefused(error) && refusal !== null ? refusal : error;
}
