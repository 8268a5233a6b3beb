import { Fault, offlineFault } from '../../../../machines/fault.ts';
import { monotonicMs } from '../../../core/clock.ts';
import {
  backoffS,
  backoffUntil,
  type CheckInBackoff,
  checkInDueS,
  isOverdue,
  maxAttempts,
} from '../../rules/schedule/checkInBackoff.ts';
import { peerNames } from '../../rules/errors/classifyError.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Sends a check-in with the backoff that protects the service from a thundering herd (spec §10.4). `send` receives the maximum
 * number of attempts; `pace` is the backoff for state.json. Throws Fault `offline` while `Retry-After` holds, except in a
 * tick that an operator started.
 */
export async function withCheckInBackoff<T>(
  deps: Dependencies,
  send: (attempts: number) => Promise<T>,
): Promise<{ answer: T; wasOverdue: boolean; pace: CheckInBackoff }> {
  const { settings, state, unattended } = deps;
  const { pace } = state.state;
  const now = new Date();
  const startedMs = monotonicMs();
  const until = backoffUntil(pace, now);
  if (unattended && until !== null)
    throw offlineFault(
      `${peerNames.tenancy} ${new URL(settings.tenancy_url).origin}: not asked again before ${until.toISOString()}`,
    );
  const wasOverdue = unattended && isOverdue(state.state, settings.interval_s, now);
  const answer = await send(maxAttempts(wasOverdue)).catch(async (error: unknown) => {
    if (error instanceof Fault && error.ending === 'offline')
      await recordBackoff(deps, { error, wasOverdue, startedMs });
    throw error;
  });
  return {
    answer,
    wasOverdue,
    pace: { due_at: addSeconds(new Date(), checkInDueS(settings.interval_s, wasOverdue)), alone_until: null },
  };
}

async function recordBackoff(
  { state }: Dependencies,
  { error, wasOverdue, startedMs }: { error: Fault; wasOverdue: boolean; startedMs: number },
): Promise<void> {
  const { last_check_in, pace } = state.state;
  const now = new Date();
  const offlineS = wasOverdue && last_check_in !== null ? (now.getTime() - Date.parse(last_check_in.at)) / 1000 : null;
  const failed = { retryAfterS: error.retryAfterS, responseS: (monotonicMs() - startedMs) / 1000, offlineS };
  const aloneS = backoffS(failed, Math.random());
  if (aloneS > 0) await state.update({ pace: { due_at: pace?.due_at ?? null, alone_until: addSeconds(now, aloneS) } });
}

/** The time so many seconds later, for state.json. */
export function addSeconds(time: Date, seconds: number): string {
  return new Date(time.getTime() + seconds * 1000).toISOString();
}
