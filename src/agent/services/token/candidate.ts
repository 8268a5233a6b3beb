import { Fault } from '../../../../machines/fault.ts';
import { unknownStanding } from '../../rules/token/tokenLife.ts';
import type { Tools } from '../tools.ts';

/**
 * Calls the tenancy service with the token that a grant brought beside a stored one (spec §11): taken, it becomes the stored token,
 * and the one before is revoked; refused, it is revoked, and the call's refusal comes back. Any other trouble is thrown and
 * leaves both on disk as they were.
 */
export async function show<T>(
  tools: Tools,
  { candidate, call }: { candidate: string; call: () => Promise<T> },
  signal: AbortSignal,
): Promise<{ answer: T } | { refusal: Fault }> {
  const { secretstore, vault } = tools;
  const stored = vault.token();
  vault.holdToken(candidate);
  const shown = await call().then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  vault.holdToken(stored);
  if ('answer' in shown) {
    await store(tools, candidate);
    await finish(tools);
    await secretstore.revokeSelf(stored, signal).catch(() => undefined);
    return shown;
  }
  if (!isRefused(shown.error)) throw shown.error;
  vault.holdCandidate(null);
  await secretstore.revokeSelf(candidate, signal).catch(() => undefined);
  return { refusal: shown.error };
}

/** Whether the tenancy service refuses the bearer. */
export function isRefused(error: unknown): error is Fault {
  return error instanceof Fault && error.ending === 'unauthenticated';
}

/** Makes this token the agent's. */
export async function store({ credentials, state, tick, vault }: Tools, token: string): Promise<void> {
  await credentials.writeToken(token);
  vault.holdToken(token);
  vault.holdCandidate(null);
  await state.update({ token: tick.candidate ?? unknownStanding() });
}

/** Takes the grant away that brought the token. */
export async function finish({ credentials, tick }: Tools): Promise<void> {
  const kept = await credentials.removeGrant();
  if (kept !== null) tick.journal.warn(kept);
  tick.journal.info('token present: the bootstrap grant was exchanged');
}
