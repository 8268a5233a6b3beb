import type { RolloutState } from '../../../../machines/rollout.ts';
import type { HostGroup, RolloutProgress, WaveProgress } from '../../store/rolloutTable.ts';

/** Counts hosts by wave; what retires, and what has never been there, is left out. */
export function progressOf(groups: readonly HostGroup[], started: number): RolloutProgress {
  const present = groups.filter(({ state }) => state === 'active' || state === 'offline');
  const remaining = sum(present.filter(({ wave }) => wave === null));
  const waves = Array.from({ length: started }, (_, index) => waveOf(present.filter(({ wave }) => wave === index)));
  return { waves, remaining };
}

function waveOf(groups: readonly HostGroup[]): WaveProgress {
  const count = (status: ReturnType<typeof statusOf>) => sum(groups.filter((group) => statusOf(group) === status));
  return {
    hosts: sum(groups),
    waiting: count('waiting'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    excused: count('excused'),
    offline: count('offline'),
    asleep: count('asleep'),
  };
}

/** What a host counts as: one that is silent is not waited for. */
function statusOf({ outcome, state, silent, laptop }: HostGroup): Exclude<keyof WaveProgress, 'hosts'> {
  if (outcome !== null && outcome !== 'waiting') return outcome;
  if (state === 'active' && silent === 0) return 'waiting';
  return laptop === 1 ? 'asleep' : 'offline';
}

function sum(groups: readonly HostGroup[]): number {
  return groups.reduce((total, { hosts }) => total + hosts, 0);
}

/** How many hosts count against the limit of failures. */
export function failuresOf({ waves }: RolloutProgress): number {
  return waves.reduce((total, { failed }) => total + failed, 0);
}

/**
 * True if a wave has succeeded: nobody is waited for, one host at least is through, and not more have failed or are missing
 * than may fail; a bundle that cuts its hosts off must not go on to others. Laptops may be missing.
 */
export function isSuccessful(progress: RolloutProgress, wave: WaveProgress, maxFailures: number): boolean {
  const { waiting, succeeded, excused, offline } = wave;
  return waiting === 0 && succeeded + excused > 0 && failuresOf(progress) + offline <= maxFailures;
}

/** What is counted of all rollouts together: how many are in each state, and their hosts by how far they are. */
export interface RolloutCounts {
  states: Partial<Record<RolloutState, number>>;
  hosts: Record<Exclude<keyof WaveProgress, 'hosts'>, number>;
}

/** Counts rollouts that are neither done nor aborted. */
export function countRollouts(rollouts: readonly { state: RolloutState; progress: RolloutProgress }[]): RolloutCounts {
  const states: RolloutCounts['states'] = {};
  const hosts: RolloutCounts['hosts'] = { waiting: 0, succeeded: 0, failed: 0, excused: 0, offline: 0, asleep: 0 };
  const outcomes = Object.keys(hosts) as (keyof typeof hosts)[];
  for (const { state, progress } of rollouts) {
    states[state] = (states[state] ?? 0) + 1;
    for (const wave of progress.waves) for (const outcome of outcomes) hosts[outcome] += wave[outcome];
  }
  return { states, hosts };
}
