import { endings } from '../../../../machines/endings.ts';
import { Fault } from '../../../../machines/fault.ts';
import type { Outcome } from '../../../../machines/types.ts';
import type { State } from '../../rules/state/state.ts';
import { expiresSoon, needsNewLease, renewedTokenStatus, issuedTokenStatus } from '../../rules/token/tokenStatus.ts';
import type { Dependencies } from '../dependencies.ts';

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
  deps: Dependencies,
  { outcome }: { outcome: Outcome },
  signal: AbortSignal,
): Promise<{ atRisk: boolean }> {
  const { settings, state, tick, vault } = deps;
  await revokeShortLived(deps, outcome);
  if (!vault.hasToken() || ENDINGS_WITHOUT_RENEWAL.includes(outcome.ending)) return { atRisk: false };
  try {
    await renewOrReplace(deps, signal);
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
 * Revokes the lease tokens, and a candidate token that no check-in has decided about. A token that cannot be revoked expires by
 * itself; that is logged unless the tick ended offline anyway.
 */
async function revokeShortLived({ secretstore, tick, vault }: Dependencies, { ending }: Outcome): Promise<void> {
  for (const token of [...vault.leaseTokens(), vault.candidateToken()].filter((each) => each !== null))
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

async function renewOrReplace(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { secretstore, settings, state, vault } = deps;
  const life = await secretstore.renewSelf(vault.token(), signal);
  if ('refused' in life) return replaceToken(deps, signal);
  const creation_ttl_s = await creationTtlOf(deps, signal);
  await state.update({ token: renewedTokenStatus({ ...state.state.token, creation_ttl_s }, life, new Date()) });
  if (needsNewLease(life, creation_ttl_s, settings.interval_s)) await replaceToken(deps, signal);
}

/** Lifetime of the token at its creation in seconds, looked up when state.json has none; null when unknown. */
async function creationTtlOf({ secretstore, state, vault }: Dependencies, signal: AbortSignal): Promise<number | null> {
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
async function replaceToken(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { credentials, recordDecision, secretstore, state, tenancy, tick, vault } = deps;
  const lease = await tenancy.lease('renew', signal);
  const login = await secretstore.login({ kind: 'lease', role: lease.role, jwt: lease.jwt }, signal);
  const oldToken = vault.token();
  await credentials.writeToken(login.token);
  vault.setToken(login.token);
  await state.update({ token: issuedTokenStatus(login, new Date()) });
  await secretstore.revokeSelf(oldToken, signal).catch(() => undefined);
  tick.journal.info('token leased anew before its maximum');
  recordDecision({ word: 'token-replaced' });
}
