import { Fault } from '../../machines/fault.ts';
import { unknownStanding } from '../rules/tokenLife.ts';
import type { Tools } from './tools.ts';

/**
 * The first call that shows the token to the tenancy service, which alone knows whether a grant is superseded (spec §11).
 * Accepted, the token that a grant has replaced in this tick is revoked; refused, the one before is tried, and comes back
 * where it works. Throws the refusal of the grant where the stored token, kept in its place, is refused too.
 */
export async function asBearer<T>(tools: Tools, call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const { secretstore, tick, vault } = tools;
  const former = vault.former();
  try {
    const answer = await call();
    if (former !== null) await secretstore.revokeSelf(former, signal).catch(() => undefined);
    return answer;
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'unauthenticated') throw error;
    if (tick.grantRefusal !== null) throw tick.grantRefusal;
    if (former === null) throw error;
    return await asFormer(tools, { call, former, refusal: error });
  }
}

interface Retry<T> {
  call: () => Promise<T>;
  former: string;
  refusal: Fault;
}

async function asFormer<T>(
  { credentials, state, tick, vault }: Tools,
  { call, former, refusal }: Retry<T>,
): Promise<T> {
  const newer = vault.token();
  vault.replaceToken(former);
  const answer = await call().catch(() => {
    vault.replaceToken(newer);
    throw refusal;
  });
  await credentials.writeToken(former);
  await state.update({ token: unknownStanding() });
  tick.journal.warn(`${refusal.message}; the grant was superseded, and the token before it is used again`);
  return answer;
}
