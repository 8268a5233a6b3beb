import { failedFault, Fault } from '../../../../machines/fault.ts';
import type { RunOptions } from '../../../../machines/types.ts';
import { issuedTokenStatus } from '../../rules/token/tokenStatus.ts';
import { removeUsedGrant, tryCandidate, storeToken } from './candidateToken.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Exchanges the grant for the agent's token (spec §11). Returns false when the grant is refused and the stored token still
 * works; with the intent `bootstrap` every refusal is thrown.
 */
export async function bootstrap(
  deps: Dependencies,
  { intent }: Pick<RunOptions, 'intent'>,
  signal: AbortSignal,
): Promise<{ exchanged: boolean }> {
  const hasStored = deps.vault.hasToken();
  try {
    await exchangeGrant(deps, intent, signal);
    return { exchanged: true };
  } catch (error) {
    if (intent === 'bootstrap' || !hasStored || !isGrantRefusal(error) || !(await isTokenValid(deps, signal)))
      throw error;
    await recordGrantRefusal(deps, error);
    return { exchanged: false };
  }
}

/**
 * The first token is stored before it is tested, so that a crash at any line leaves a working token or grant. When a token is
 * stored already, the new one is a candidate: only the tenancy service knows whether the grant is superseded, so the first
 * check-in decides (`callAuthenticated`); with the intent `bootstrap`, which has no check-in, a lease request decides.
 */
async function exchangeGrant(deps: Dependencies, intent: RunOptions['intent'], signal: AbortSignal): Promise<void> {
  const { credentials, secretstore, settings, tick, vault } = deps;
  const grant = await credentials.readGrant().catch((error: unknown) => {
    vault.noteUntrackedSecrets();
    throw error;
  });
  if (grant === null) throw grantAbsentFault(deps);
  vault.registerForRedaction(grant);
  const login = await secretstore.login({ kind: 'grant', role: settings.secretstore_role, jwt: grant }, signal);
  tick.candidateStatus = issuedTokenStatus(login, new Date());
  const isFirst = !vault.hasToken();
  if (isFirst) await storeToken(deps, login.token);
  else vault.setCandidateToken(login.token);
  const proof = await secretstore.lookupSelf(login.token, signal);
  if ('denied' in proof) throw failedFault('BOOTSTRAP_REFUSED', lookupDenied);
  if (proof.dead) throw failedFault('BOOTSTRAP_REFUSED', 'the new token is refused');
  if (isFirst) await removeUsedGrant(deps);
  else if (intent === 'bootstrap') {
    const result = await tryCandidate(
      deps,
      { candidate: login.token, call: () => deps.tenancy.lease('renew', signal) },
      signal,
    );
    if ('refusal' in result) throw supersededFault();
  }
}

const lookupDenied = 'no policy lets the new token look itself up; the policy default of the secretstore does';

function grantAbsentFault({ settings, vault }: Dependencies): Fault {
  const where = `no bootstrap grant in ${settings.bootstrap_file}`;
  return vault.hasToken()
    ? new Fault('failed', `failed: ${where}`)
    : new Fault('tokenAbsent', `token ABSENT: ${where}`);
}

/** True when the grant itself was refused, not when the network or the disk failed. */
function isGrantRefusal(error: unknown): error is Fault {
  const codes = ['BOOTSTRAP_REFUSED', 'CLOCK_SKEW', 'CREDENTIAL_UNUSABLE'];
  return error instanceof Fault && codes.includes(error.code ?? '');
}

async function isTokenValid({ secretstore, vault }: Dependencies, signal: AbortSignal): Promise<boolean> {
  const lookup = await secretstore.lookupSelf(vault.token(), signal);
  return 'ttlS' in lookup;
}

/** The fault of a grant whose token the tenancy service refuses. */
export function supersededFault(): Fault {
  return failedFault('BOOTSTRAP_REFUSED', 'the tenancy service refuses its token: the grant was superseded');
}

/** Records a refused grant in the journal and state.json; the stored token stays in use. */
export async function recordGrantRefusal(
  { settings, state, tick, vault }: Dependencies,
  refusal: Fault,
): Promise<void> {
  const { token } = state.state;
  const grant_refused = vault.redactor().redact(refusal.message);
  tick.grantRefusal = refusal;
  tick.journal.warn(`${grant_refused}; the stored token is used: remove or replace ${settings.bootstrap_file}`);
  if (token.grant_refused !== grant_refused) await state.update({ token: { ...token, grant_refused } });
}
