import { failure, Fault } from '../../machines/fault.ts';
import type { Start } from '../../machines/words.ts';
import { tokenStanding } from '../rules/tokenLife.ts';
import type { Tools } from './tools.ts';

/**
 * Exchanges the grant for the agent's token (spec §11); false when the grant is refused and the stored token, which still
 * works, stays. Who asks for the exchange alone hears of each refusal as a Fault.
 */
export async function bootstrap(
  tools: Tools,
  { intent }: Pick<Start, 'intent'>,
  signal: AbortSignal,
): Promise<{ exchanged: boolean }> {
  try {
    await exchange(tools, intent, signal);
    return { exchanged: true };
  } catch (error) {
    if (intent === 'bootstrap' || !isRefusal(error) || !(await hasLivingToken(tools, signal))) throw error;
    await tellRefusal(tools, error);
    return { exchanged: false };
  }
}

/**
 * The new token is proven before it replaces the stored one, and the grant goes after that, so that a crash at any line
 * leaves a token or a grant that works. In a tick the token before is revoked by the check-in (`asBearer`).
 */
async function exchange(tools: Tools, intent: Start['intent'], signal: AbortSignal): Promise<void> {
  const { credentials, secretstore, settings, state, tick, vault } = tools;
  const grant = await credentials.readGrant().catch((error: unknown) => {
    vault.noteUnheld();
    throw error;
  });
  if (grant === null) throw grantAbsent(tools);
  vault.guard(grant);
  const login = await secretstore.login({ kind: 'grant', role: settings.secretstore_role, jwt: grant }, signal);
  const proof = await secretstore.lookupSelf(login.token, signal);
  if ('denied' in proof) throw failure('BOOTSTRAP_REFUSED', unfitToken);
  if (proof.dead) throw failure('BOOTSTRAP_REFUSED', 'the new token is refused');
  await credentials.writeToken(login.token);
  vault.replaceToken(login.token);
  await state.update({ token: tokenStanding(login, new Date()) });
  const kept = await credentials.removeGrant();
  if (kept !== null) tick.journal.warn(kept);
  const former = vault.former();
  if (intent === 'bootstrap' && former !== null) await secretstore.revokeSelf(former, signal).catch(() => undefined);
  tick.journal.info('token present: the bootstrap grant was exchanged');
}

const unfitToken = 'no policy lets the new token look itself up; the policy default of the secretstore does';

function grantAbsent({ settings, vault }: Tools): Fault {
  const where = `no bootstrap grant in ${settings.bootstrap_file}`;
  return vault.hasToken()
    ? new Fault('failed', `failed: ${where}`)
    : new Fault('tokenAbsent', `token ABSENT: ${where}`);
}

/** Whether the grant itself is at fault, and neither the network nor the disk. */
function isRefusal(error: unknown): error is Fault {
  const codes = ['BOOTSTRAP_REFUSED', 'CLOCK_SKEW', 'CREDENTIAL_UNUSABLE'];
  return error instanceof Fault && codes.includes(error.code ?? '');
}

async function hasLivingToken({ secretstore, vault }: Tools, signal: AbortSignal): Promise<boolean> {
  if (!vault.hasToken()) return false;
  const seen = await secretstore.lookupSelf(vault.token(), signal);
  return 'denied' in seen || !seen.dead;
}

async function tellRefusal({ settings, state, tick, vault }: Tools, refusal: Fault): Promise<void> {
  const { token } = state.state;
  const grant_refused = vault.redactor().redact(refusal.message);
  tick.grantRefusal = refusal;
  tick.journal.warn(`${grant_refused}; the stored token is used: remove or replace ${settings.bootstrap_file}`);
  if (token.grant_refused !== grant_refused) await state.update({ token: { ...token, grant_refused } });
}
