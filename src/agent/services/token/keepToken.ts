import { endings } from '../../../../machines/endings.ts';
import { Fault } from '../../../../machines/fault.ts';
import type { Outcome } from '../../../../machines/words.ts';
import type { State } from '../../rules/state/state.ts';
import { isAtRisk, mustLeaseAnew, renewedStanding, tokenStanding } from '../../rules/token/tokenLife.ts';
import type { Tools } from '../tools.ts';

/** The short-lived token is handed back even after SIGTERM, but not at the price of the 15 s. */
const HAND_BACK_MS = 3_000;

const NOTHING_TO_KEEP: Outcome['ending'][] = [
  'bootstrapped',
  'tokenAbsent',
  'unauthenticated',
  'envMismatch',
  'stopped',
];

/**
 * The last step of a tick (spec §11): hands the short-lived token back, renews the agent's own, leases a new one before
 * the maximum. Trouble is told and remembered but changes no outcome while enough of the token's life is left.
 */
export async function keepToken(
  tools: Tools,
  { outcome }: { outcome: Outcome },
  signal: AbortSignal,
): Promise<{ atRisk: boolean }> {
  const { settings, state, tick, vault } = tools;
  await handBack(tools, outcome);
  if (!vault.hasToken() || NOTHING_TO_KEEP.includes(outcome.ending)) return { atRisk: false };
  try {
    await prolong(tools, signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const foreseen = isForeseen(error, outcome);
    tick.journal[foreseen ? 'debug' : 'error'](error.message);
    const trouble = vault.redactor().redact(error.message);
    if (!foreseen) await state.update({ token: { ...state.state.token, trouble } });
  }
  const now = new Date();
  const isTroubled = state.state.token.trouble !== null && outcome.ending !== 'offlineLaptop';
  const atRisk = isTroubled && isAtRisk(state.state.token, settings.interval_s, now);
  if (atRisk && endings[outcome.ending].meta.exit === 0) await state.update({ last_outcome: riskOf(state.state, now) });
  return { atRisk };
}

/**
 * Hands back the short-lived token, and the candidate of a grant that no check-in decided about. One that cannot be handed back
 * is told, unless the network was told to be down; it ends by itself.
 */
async function handBack({ secretstore, tick, vault }: Tools, { ending }: Outcome): Promise<void> {
  for (const token of [vault.lease(), vault.candidate()].filter((each) => each !== null))
    try {
      await secretstore.revokeSelf(token, AbortSignal.timeout(HAND_BACK_MS));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const why = error.ending === 'stopped' ? `no answer within ${HAND_BACK_MS / 1000} s` : error.message;
      if (!ending.startsWith('offline'))
        tick.journal.warn(`short-lived token not handed back, it ends by itself: ${why}`);
    }
}

/** The network was told to be down already; and who is retired loses the token with the report of it. */
function isForeseen(error: Fault, { ending }: Outcome): boolean {
  return (
    error.ending === 'stopped' ||
    (error.ending === 'offline' && ending.startsWith('offline')) ||
    (error.ending === 'unauthenticated' && ending === 'down')
  );
}

async function prolong(tools: Tools, signal: AbortSignal): Promise<void> {
  const { secretstore, settings, state, vault } = tools;
  const life = await secretstore.renewSelf(vault.token(), signal);
  if ('refused' in life) return leaseAnew(tools, signal);
  const creation_ttl_s = await creationTtlOf(tools, signal);
  await state.update({ token: renewedStanding({ ...state.state.token, creation_ttl_s }, life, new Date()) });
  if (mustLeaseAnew(life, creation_ttl_s, settings.interval_s)) await leaseAnew(tools, signal);
}

/** Seconds that the token was given at its creation: asked for where the state that knew is lost; null where nobody tells. */
async function creationTtlOf({ secretstore, state, vault }: Tools, signal: AbortSignal): Promise<number | null> {
  const { creation_ttl_s } = state.state.token;
  if (creation_ttl_s !== null) return creation_ttl_s;
  const found = await secretstore.lookupSelf(vault.token(), signal);
  return 'creationTtlS' in found ? found.creationTtlS : null;
}

/** A tick that did its work is still a failure when its token is about to end; a laptop that is offline lets it end. */
function riskOf({ token }: State, now: Date): State['last_outcome'] {
  return { at: now.toISOString(), outcome: 'tokenAtRisk', code: null, detail: token.trouble };
}

/** The new token is on disk before the old one is revoked: a crash at any line leaves one that works. */
async function leaseAnew(tools: Tools, signal: AbortSignal): Promise<void> {
  const { credentials, note, secretstore, state, tenancy, tick, vault } = tools;
  const lease = await tenancy.lease('renew', signal);
  const login = await secretstore.login({ kind: 'lease', role: lease.role, jwt: lease.jwt }, signal);
  const before = vault.token();
  await credentials.writeToken(login.token);
  vault.holdToken(login.token);
  await state.update({ token: tokenStanding(login, new Date()) });
  await secretstore.revokeSelf(before, signal).catch(() => undefined);
  tick.journal.info('token leased anew before its maximum');
  note({ word: 'leased-anew' });
}
