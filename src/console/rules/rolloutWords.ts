import type { Condition } from './condition.ts';

/** Every state of a rollout. */
export const rolloutConditions: Readonly<Record<string, Condition>> = {
  pending: { word: 'pending', tone: 'later', meaning: 'Waits for a window in which the next wave may start.' },
  updating: { word: 'updating', tone: 'later', meaning: 'The hosts of the wave are told to run the bundle.' },
  soaking: { word: 'soaking', tone: 'later', meaning: 'The wave has succeeded, and is watched for a while.' },
  gated: { word: 'gated', tone: 'bad', meaning: 'The wave has succeeded; somebody must let the rollout go on.' },
  halted: { word: 'halted', tone: 'bad', meaning: 'No further host is told to run the bundle.' },
  done: { word: 'done', tone: 'good', meaning: 'Every host is told to run the bundle.' },
  aborted: { word: 'aborted', tone: 'idle', meaning: 'Every host is told to run the content from before.' },
};

/** Who has halted a rollout. */
export const haltReasons: Readonly<Record<string, string>> = {
  operator: 'an operator has halted it',
  failures: 'too many hosts have failed',
  restore: 'the service was restored from a backup',
};
