import type { ReceivedReport } from '../api/types.ts';

const sentences: Readonly<Record<string, string>> = {
  heartbeat: 'It runs what is desired, and had nothing to do.',
  applied: 'It has applied the desired bundle.',
  unhealthy: 'It runs the desired bundle, but something of it does not work.',
  refused: 'It has refused the desired bundle, and started nothing of it.',
  failed: 'It has tried to apply the desired bundle, and failed.',
  down: 'It has taken everything down, as it was told.',
};

type ExplainedReport = Pick<ReceivedReport, 'outcome' | 'reason' | 'reverted'>;

/** Why a host lets what is desired wait, by the reason of its heartbeat. */
const deferrals: Readonly<Record<string, string>> = {
  'waits:hold': 'An operator holds it: what is desired waits.',
  'waits:window': 'What is desired waits until one of its windows opens.',
};

const LEADER = 'leader:';

/** Why a host did what it did in a tick, in a sentence. */
export function explain({ outcome, reason, reverted }: ExplainedReport): string {
  if (reason.startsWith(LEADER)) return `${reason.slice(LEADER.length)} leads its swarm, and does what is desired.`;
  const sentence = deferrals[reason] ?? sentences[outcome] ?? `It has ended as ${outcome}.`;
  return reverted ? `${sentence} It runs again what it ran before.` : sentence;
}
