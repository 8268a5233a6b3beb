import type { Rollout } from '../api/types.ts';
import type { Condition } from './condition.ts';

/** Every state of a rollout. */
export const rolloutConditions: Readonly<Record<string, Condition>> = {
  pending: {
    word: 'pending',
    tone: 'later',
    meaning: 'The next wave is about to start, where there are windows in the next one.',
  },
  updating: { word: 'updating', tone: 'later', meaning: 'The hosts of the wave are told to run the bundle.' },
  soaking: { word: 'soaking', tone: 'later', meaning: 'The wave has succeeded, and is watched for a while.' },
  gated: {
    word: 'gated',
    tone: 'bad',
    meaning: 'The wave has succeeded; an operator or the webhook of the gate must let the rollout go on.',
  },
  halted: { word: 'halted', tone: 'bad', meaning: 'No further host is told to run the bundle.' },
  done: { word: 'done', tone: 'good', meaning: 'Every host is told to run the bundle.' },
  aborted: { word: 'aborted', tone: 'idle', meaning: 'Every host is told to run the content from before.' },
};

/** What has halted a rollout. */
export const haltReasons: Readonly<Record<NonNullable<Rollout['halted_by']>, string>> = {
  operator: 'an operator has halted it',
  abort: 'an abort of it is not done yet',
  gate: 'the webhook of its gate has not let it pass',
  failures: 'too many hosts have failed',
  restore: 'the service was restored from a backup',
};

export type RolloutAct = 'halt' | 'resume' | 'pass' | 'abort';

const acts: Readonly<Record<string, readonly RolloutAct[]>> = {
  pending: ['halt', 'abort'],
  updating: ['halt', 'abort'],
  soaking: ['halt', 'abort'],
  gated: ['pass', 'halt', 'abort'],
  halted: ['resume', 'abort'],
};

/** What can be done to a rollout in a state, what helps it on first; nothing once it is over. */
export function rolloutActs(state: string): readonly RolloutAct[] {
  return acts[state] ?? [];
}

/** What lets a rollout go on after a wave. */
export function gateWords({ gate, gate_webhook }: Pick<Rollout, 'gate' | 'gate_webhook'>): string {
  if (gate === 'none') return 'none';
  return gate === 'manual' ? 'somebody passes it' : `the webhook ${gate_webhook ?? ''}, or somebody passes it`;
}

/** Whom a wave takes: `10 % of ring=canary`, `all that are left`. */
export function waveWords({ count, percent, labels }: WavePlan): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const number = count !== null ? String(count) : percent !== null ? `${percent} %` : 'all';
  return pairs.length === 0 ? number : `${number} of ${pairs.join(', ')}`;
}

interface WavePlan {
  count: number | null;
  percent: number | null;
  labels: Readonly<Record<string, string>>;
}
