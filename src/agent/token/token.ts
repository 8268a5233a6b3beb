import { endings } from '../../../machines/endings.ts';
import { failedFault, Fault, faultFacts, faultOf } from '../../../machines/fault.ts';
import type { FaultFacts, Outcome, RunOptions } from '../../../machines/types.ts';
import { redactFault, type RunningTick } from '../journal/journal.ts';
import { tenancyErrorCodes } from '../../api/checkIn.rules.ts';
import type { State } from '../state/state.rules.ts';
import { expiresSoon, issuedTokenStatus, needsNewLease, renewedTokenStatus } from './token.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { CandidateToken, Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Credentials } from './credentials.ts';
import type { Tenancy } from '../transport/tenancy.ts';
import type { Secretstore } from './secretstore.ts';
import type { Decision } from '../journal/trace.rules.ts';

/** Dependencies of obtaining, keeping and renewing the token. */
export interface TokenDependencies {
  readonly settings: Settings;
  readonly vault: Vault;
  readonly state: StateStore;
  readonly credentials: Credentials;
  readonly tenancy: Tenancy;
  readonly secretstore: Secretstore;
  readonly recordDecision: (decision: Decision) => void;
  readonly tick: RunningTick;
}

/**
 * Exchanges the grant for the agent's token (spec §11). Returns the refusal of a grant when the stored token still
 * works; with the intent `bootstrap` every refusal is thrown.
 */
export async function bootstrap(
  deps: TokenDependencies,
  { intent }: Pick<RunOptions, 'intent'>,
  signal: AbortSignal,
): Promise<{ exchanged: boolean; refusal: FaultFacts | null }> {
  const hasStored = deps.vault.hasToken();
  try {
    await exchangeGrant(deps, intent, signal);
    return { exchanged: true, refusal: null };
  } catch (error) {
    if (intent === 'bootstrap' || !hasStored || !isGrantRefusal(error) || !(await isTokenValid(deps, signal)))
      throw error;
    await recordGrantRefusal(deps, error);
    return { exchanged: false, refusal: faultFacts(redactFault(deps, error)) };
  }
}

/**
 * The first token is stored before it is tested, so that a crash at any line leaves a working token or grant. When a
 * token is stored already, the new one is a candidate. Only the tenancy service knows whether the grant is superseded,
 * so the first check-in decides (`callAuthenticated`). With the intent `bootstrap`, which has no check-in, a lease
 * request decides.
 */
async function exchangeGrant(
  deps: TokenDependencies,
  intent: RunOptions['intent'],
  signal: AbortSignal,
): Promise<void> {
  const { credentials, secretstore, settings, vault } = deps;
  const grant = await credentials.readGrant().catch((error: unknown) => {
    vault.noteUntrackedSecrets();
    throw error;
  });
  if (grant === null) throw grantAbsentFault(deps);
  vault.registerForRedaction(grant);
  const login = await secretstore.login({ kind: 'grant', role: settings.secretstore_role, jwt: grant }, signal);
  const candidate = { ...login, issuedAt: new Date() };
  const isFirst = !vault.hasToken();
  if (isFirst) await storeToken(deps, candidate);
  else vault.setCandidate(candidate);
  const proof = await secretstore.lookupSelf(login.token, signal);
  if ('denied' in proof) throw failedFault('BOOTSTRAP_REFUSED', lookupDenied);
  if (proof.dead) throw failedFault('BOOTSTRAP_REFUSED', 'the new token is refused');
  if (isFirst) await removeUsedGrant(deps);
  else if (intent === 'bootstrap') {
    const result = await tryCandidate(deps, { candidate, call: () => deps.tenancy.lease('renew', signal) }, signal);
    if ('refusal' in result) throw supersededFault();
  }
}

const lookupDenied = 'no policy lets the new token look itself up; the policy default of the secretstore does';

function grantAbsentFault({ settings, vault }: TokenDependencies): Fault {
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

async function isTokenValid({ secretstore, vault }: TokenDependencies, signal: AbortSignal): Promise<boolean> {
  const lookup = await secretstore.lookupSelf(vault.token(), signal);
  return 'ttlS' in lookup;
}

/** The fault of a grant whose token the tenancy service refuses. */
function supersededFault(): Fault {
  return failedFault('BOOTSTRAP_REFUSED', 'the tenancy service refuses its token: the grant was superseded');
}

/** Records a refused grant in the journal and state.json; the stored token stays in use. */
async function recordGrantRefusal({ settings, state, tick, vault }: TokenDependencies, refusal: Fault): Promise<void> {
  const { token } = state.state;
  const grant_refused = vault.redactor().redact(refusal.message);
  tick.journal.warn(`${grant_refused}; the stored token is used: remove or replace ${settings.bootstrap_file}`);
  if (token.grant_refused !== grant_refused) await state.update({ token: { ...token, grant_refused } });
}

/**
 * Calls the tenancy service with the candidate token of a grant (spec §11). If it is accepted, it replaces the stored token,
 * which is revoked; if it is refused, it is revoked and the refusal is returned. Other errors are thrown and leave both on
 * disk unchanged.
 */
async function tryCandidate<T>(
  deps: TokenDependencies,
  { candidate, call }: { candidate: CandidateToken; call: () => Promise<T> },
  signal: AbortSignal,
): Promise<{ answer: T } | { refusal: Fault }> {
  const { secretstore, vault } = deps;
  const stored = vault.token();
  vault.setToken(candidate.token);
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
  vault.setCandidate(null);
  await secretstore.revokeSelf(candidate.token, signal).catch(() => undefined);
  return { refusal: result.error };
}

/** True when the tenancy service refuses the bearer token, or the mesh refuses the identity. */
function isRefused(error: unknown): error is Fault {
  return error instanceof Fault && error.ending === 'unauthenticated';
}

/** Stores a token as the token of the agent, on disk and in the vault. */
async function storeToken({ credentials, state, vault }: TokenDependencies, candidate: CandidateToken): Promise<void> {
  const { token, issuedAt } = candidate;
  await credentials.writeToken(token);
  vault.setToken(token);
  vault.setCandidate(null);
  await state.update({ token: issuedTokenStatus(candidate, issuedAt) });
}

/** Removes the grant file after the exchange. */
async function removeUsedGrant({ credentials, tick }: TokenDependencies): Promise<void> {
  const warning = await credentials.removeGrant();
  if (warning !== null) tick.journal.warn(warning);
  tick.journal.info('token present: the bootstrap grant was exchanged');
}

/**
 * Makes the first authenticated call of a tick. Only the tenancy service knows whether a grant is superseded (spec §11): the
 * candidate token of the grant is tried first; if it is refused, the stored token is used and kept. Throws the refusal of
 * the grant when the stored token is refused too.
 */
export async function callAuthenticated<T>(
  deps: TokenDependencies,
  { grantRefusal, call }: { grantRefusal: FaultFacts | null; call: () => Promise<T> },
  signal: AbortSignal,
): Promise<T> {
  const candidate = deps.vault.candidate();
  const refused = grantRefusal && faultOf(grantRefusal);
  if (candidate === null) return call().catch((error: unknown) => throwRefusal(refused, error));
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

/** Short-lived tokens are revoked even after SIGTERM; the timeout keeps that within the 15 s to stop. */
const REVOKE_TIMEOUT_MS = 3_000;

const ENDINGS_WITHOUT_RENEWAL: Outcome['ending'][] = [
  'bootstrapped',
  'tokenAbsent',
  'unauthenticated',
  'envMismatch',
  'stopped',
];

/**
 * Revokes short-lived tokens, then renews the agent's token, or replaces it before its maximum lifetime (spec §11). Errors are
 * logged and recorded; they change the outcome only when the token is about to expire.
 */
export async function renewToken(
  deps: TokenDependencies,
  { outcome }: { outcome: Outcome },
  signal: AbortSignal,
): Promise<{ atRisk: boolean }> {
  const { settings, state, tick, vault } = deps;
  await revokeShortLived(deps, outcome);
  if (!vault.hasToken() || ENDINGS_WITHOUT_RENEWAL.includes(outcome.ending)) return { atRisk: false };
  try {
    await renewOrReplace(deps, outcome, signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const isExpected = isExpectedFailure(error, outcome);
    tick.journal[isExpected ? 'debug' : 'error'](error.message);
    const trouble = vault.redactor().redact(error.message);
    if (!isExpected) await state.update({ token: { ...state.state.token, trouble } });
  }
  const now = new Date();
  const hasFailed = state.state.token.trouble !== null && outcome.ending !== 'offlineLaptop';
  const atRisk = hasFailed && expiresSoon(state.state.token, settings.interval_s, now);
  if (atRisk && endings[outcome.ending].meta.exit === 0)
    await state.update({ last_outcome: tokenAtRiskOutcome(state.state, now) });
  return { atRisk };
}

/**
 * Revokes the lease tokens, and a candidate token that no check-in has confirmed or rejected. A token that cannot be
 * revoked expires by itself; that is logged unless the tick ended offline anyway.
 */
async function revokeShortLived({ secretstore, tick, vault }: TokenDependencies, { ending }: Outcome): Promise<void> {
  for (const token of [...vault.leaseTokens(), vault.candidate()?.token ?? null].filter((each) => each !== null))
    try {
      await secretstore.revokeSelf(token, AbortSignal.timeout(REVOKE_TIMEOUT_MS));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const why = error.ending === 'stopped' ? `no answer within ${REVOKE_TIMEOUT_MS / 1000} s` : error.message;
      if (!ending.startsWith('offline'))
        tick.journal.warn(`short-lived token not handed back, it ends by itself: ${why}`);
    }
}

/** True when the tick has logged the network failure already, or when the token ended with the report of a down. */
function isExpectedFailure(error: Fault, { ending }: Outcome): boolean {
  return (
    error.ending === 'stopped' ||
    (error.ending === 'offline' && ending.startsWith('offline')) ||
    (error.ending === 'unauthenticated' && ending === 'down')
  );
}

/** A cloned host keeps its token: replacing it would revoke the token that the true host uses too. */
async function renewOrReplace(deps: TokenDependencies, { code }: Outcome, signal: AbortSignal): Promise<void> {
  const { secretstore, settings, state, vault } = deps;
  const isCloned = code === tenancyErrorCodes.cloned;
  const life = await secretstore.renewSelf(vault.token(), signal);
  if ('refused' in life) return isCloned ? undefined : replaceToken(deps, signal);
  const creation_ttl_s = await creationTtlOf(deps, signal);
  await state.update({ token: renewedTokenStatus({ ...state.state.token, creation_ttl_s }, life, new Date()) });
  if (!isCloned && needsNewLease(life, creation_ttl_s, settings.interval_s)) await replaceToken(deps, signal);
}

/** Lifetime of the token at its creation in seconds, looked up when state.json has none; null when unknown. */
async function creationTtlOf(
  { secretstore, state, vault }: TokenDependencies,
  signal: AbortSignal,
): Promise<number | null> {
  const { creation_ttl_s } = state.state.token;
  if (creation_ttl_s !== null) return creation_ttl_s;
  const lookup = await secretstore.lookupSelf(vault.token(), signal);
  return 'creationTtlS' in lookup ? lookup.creationTtlS : null;
}

/** The last outcome of a successful tick whose token is about to expire. */
function tokenAtRiskOutcome({ token }: State, now: Date): State['last_outcome'] {
  return { at: now.toISOString(), outcome: 'tokenAtRisk', code: null, detail: token.trouble };
}

/** Stores the new token before the old one is revoked, so that a crash at any line leaves a working one. */
async function replaceToken(deps: TokenDependencies, signal: AbortSignal): Promise<void> {
  const { credentials, recordDecision, secretstore, state, tenancy, tick, vault } = deps;
  const lease = await tenancy.lease('renew', signal);
  const login = await secretstore.login({ kind: 'lease', role: lease.role, jwt: lease.jwt }, signal);
  const oldToken = vault.token();
  await credentials.writeToken(login.token);
  vault.setToken(login.token);
  await state.update({ token: issuedTokenStatus(login, new Date()) });
  await secretstore.revokeSelf(oldToken, signal).catch(() => undefined);
  tick.journal.info('token replaced before its maximum lifetime');
  recordDecision({ word: 'token-replaced' });
}
