import { failure, Fault } from '../../machines/fault.ts';
import { tokenStanding } from '../rules/tokenLife.ts';
import type { Tools } from './tools.ts';

/**
 * Exchanges the grant for the agent's token (spec §11). The grant goes only when the token is on disk and proven, so
 * that a crash at any line leaves one of them; a token that was there before is revoked where that is possible.
 */
export async function bootstrap(tools: Tools, _input: void, signal: AbortSignal): Promise<void> {
  const { credentials, secretstore, settings, state, tick, vault } = tools;
  const grant = await credentials.readGrant();
  if (grant === null) throw grantAbsent(tools);
  vault.guard(grant);
  const before = vault.hasToken() ? vault.token() : null;
  const login = await secretstore.login({ kind: 'grant', role: settings.secretstore_role, jwt: grant }, signal);
  await credentials.writeToken(login.token);
  vault.holdToken(login.token);
  await state.update({ token: tokenStanding(login, new Date()) });
  const proof = await secretstore.lookupSelf(login.token, signal);
  if ('denied' in proof) throw failure('BOOTSTRAP_REFUSED', unfitToken);
  if (proof.dead) throw failure('BOOTSTRAP_REFUSED', 'the new token is refused');
  const kept = await credentials.removeGrant();
  if (kept !== null) tick.journal.warn(kept);
  if (before !== null) await secretstore.revokeSelf(before, signal).catch(() => undefined);
  tick.journal.info('token present: the bootstrap grant was exchanged');
}

const unfitToken = 'no policy lets the new token look itself up; the policy default of the secretstore does';

function grantAbsent({ settings, vault }: Tools): Fault {
  const where = `no bootstrap grant in ${settings.bootstrap_file}`;
  return vault.hasToken()
    ? new Fault('failed', `failed: ${where}`)
    : new Fault('tokenAbsent', `token ABSENT: ${where}`);
}
