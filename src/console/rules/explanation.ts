import type { ReceivedReport } from '../api/types.ts';

const sentences: Readonly<Record<string, string>> = {
  heartbeat: 'It runs what is desired, and had nothing to do.',
  applied: 'It has applied the desired bundle.',
  unhealthy: 'It runs the desired bundle, but something of it does not work.',
  refused: 'It has refused the desired bundle, and started nothing of it.',
  failed: 'It has tried to apply the desired bundle, and failed.',
  down: 'It has taken everything down, as it was told.',
};

/** Why a host did what it did in a tick, in a sentence. */
export function explain({ outcome, reverted }: Pick<ReceivedReport, 'outcome' | 'reverted'>): string {
  const sentence = sentences[outcome] ?? `It has ended as ${outcome}.`;
  return reverted ? `${sentence} It runs again what it ran before.` : sentence;
}
