import { Fault, offline } from '../../../../machines/fault.ts';
import { clockMs } from '../../journal/clock.ts';
import { aloneUntil, dueS, isOverdue, leaveAloneS, triesOf, type Pace } from '../../rules/schedule/checkInBackoff.ts';
import { peerNames } from '../../rules/errors/classifyError.ts';
import type { Tools } from '../tools.ts';

/**
 * A check-in that thinks of all the others who may be about to make theirs (spec §10.4); `ask` is told how often it may be
 * tried. With the answer comes what state.json shall keep of it. Throws Fault `offline` where the service is still to be
 * left alone; a tick that somebody waits for asks nevertheless.
 */
export async function approach<T>(
  tools: Tools,
  ask: (tries: number) => Promise<T>,
): Promise<{ answer: T; isBack: boolean; pace: Pace }> {
  const { settings, state, unattended } = tools;
  const { pace } = state.state;
  const now = new Date();
  const sinceMs = clockMs();
  const until = aloneUntil(pace, now);
  if (unattended && until !== null)
    throw offline(
      `${peerNames.tenancy} ${new URL(settings.tenancy_url).origin}: not asked again before ${until.toISOString()}`,
    );
  const isBack = unattended && isOverdue(state.state, settings.interval_s, now);
  const answer = await ask(triesOf(isBack)).catch(async (error: unknown) => {
    if (error instanceof Fault && error.ending === 'offline') await leaveAlone(tools, { error, isBack, sinceMs });
    throw error;
  });
  return { answer, isBack, pace: { due_at: later(new Date(), dueS(settings.interval_s, isBack)), alone_until: null } };
}

async function leaveAlone(
  { state }: Tools,
  { error, isBack, sinceMs }: { error: Fault; isBack: boolean; sinceMs: number },
): Promise<void> {
  const { last_check_in, pace } = state.state;
  const now = new Date();
  const awayS = isBack && last_check_in !== null ? (now.getTime() - Date.parse(last_check_in.at)) / 1000 : null;
  const failed = { retryAfterS: error.retryAfterS, waitedS: (clockMs() - sinceMs) / 1000, awayS };
  const aloneS = leaveAloneS(failed, Math.random());
  if (aloneS > 0) await state.update({ pace: { due_at: pace?.due_at ?? null, alone_until: later(now, aloneS) } });
}

function later(than: Date, seconds: number): string {
  return new Date(than.getTime() + seconds * 1000).toISOString();
}
