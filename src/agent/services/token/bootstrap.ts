import { failure, Fault } from '../../../../machines/fault.ts';
import type { Start } from '../../../../machines/words.ts';
import { tokenStanding } from '../../rules/token/tokenLife.ts';
import { finish, show, store } from './candidate.ts';
import type { Tools } from '../tools.ts';

/**
 * Exchanges the grant for the agent's token (spec §11); false when the grant is refused and the stored token, which still
 * works, stays. Who asks for the exchange alone hears of each refusal as a Fault.
 */
export async function bootstrap(
  tools: Tools,
  { intent }: Pick<Start, 'intent'>,
  signal: AbortSignal,
): Promise<{ exchanged: boolean }> {
  const hasStored = tools.vault.hasToken();
  try {
    await exchange(tools, intent, signal);
    return { exchanged: true };
  } catch (error) {
    if (intent === 'bootstrap' || !hasStored || !isRefusal(error) || !(await isAlive(tools, signal))) throw error;
    await tellRefusal(tools, error);
    return { exchanged: false };
  }
}

/**
 * The first token is stored before it is proven, so that a crash at any line leaves a token or a grant that works. Beside a
 * stored token it is a candidate: only the tenancy service knows whether the grant is superseded, and the first check-in
 * decides (`asBearer`); of a command that makes none, a lease does.
 */
async function exchange(tools: Tools, intent: Start['intent'], signal: AbortSignal): Promise<void> {
  const { credentials, secretstore, settings, tick, vault } = tools;
  const grant = await credentials.readGrant().catch((error: unknown) => {
    vault.noteUnheld();
    throw error;
  });
  if (grant === null) throw grantAbsent(tools);
  vault.guard(grant);
  const login = await secretstore.login({ kind: 'grant', role: settings.secretstore_role, jwt: grant }, signal);
  tick.candidate = tokenStanding(login, new Date());
  const isFirst = !vault.hasToken();
  if (isFirst) await store(tools, login.token);
  else vault.holdCandidate(login.token);
  const proof = await secretstore.lookupSelf(login.token, signal);
  if ('denied' in proof) throw failure('BOOTSTRAP_REFUSED', unfitToken);
  if (proof.dead) throw failure('BOOTSTRAP_REFUSED', 'the new token is refused');
  if (isFirst) await finish(tools);
  else if (intent === 'bootstrap') {
    const shown = await show(
      tools,
      { candidate: login.token, call: () => tools.tenancy.lease('renew', signal) },
      signal,
    );
    if ('refusal' in shown) throw superseded();
  }
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

async function isAlive({ secretstore, vault }: Tools, signal: AbortSignal): Promise<boolean> {
  const seen = await secretstore.lookupSelf(vault.token(), signal);
  return 'ttlS' in seen;
}

/** Of a grant whose token the tenancy service does not take. */
export function superseded(): Fault {
  return failure('BOOTSTRAP_REFUSED', 'the tenancy service refuses its token: the grant was superseded');
}

/** A grant that is not taken is told in journal and state; the stored token goes on. */
export async function tellRefusal({ settings, state, tick, vault }: Tools, refusal: Fault): Promise<void> {
  const { token } = state.state;
  const grant_refused = vault.redactor().redact(refusal.message);
  tick.grantRefusal = refusal;
  tick.journal.warn(`${grant_refused}; the stored token is used: remove or replace ${settings.bootstrap_file}`);
  if (token.grant_refused !== grant_refused) await state.update({ token: { ...token, grant_refused } });
}
