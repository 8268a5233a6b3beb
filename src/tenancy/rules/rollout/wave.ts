import type { Labels } from '../../store/columns.ts';
import type { Candidate, Wave } from '../../store/rolloutTable.ts';

/** The waves of a rollout: after those that were asked for, one takes whatever hosts they have left. */
export function completeWaves(waves: readonly Wave[]): Wave[] {
  const last = waves.at(-1);
  return last !== undefined && takesEverything(last) ? [...waves] : [...waves, {}];
}

function takesEverything({ count, percent, labels = {} }: Wave): boolean {
  return count === undefined && (percent ?? 100) === 100 && Object.keys(labels).length === 0;
}

/** The ids that a wave takes, in the order of the candidates. */
export function selectWave(candidates: readonly Candidate[], wave: Wave): string[] {
  const matching = candidates.filter((candidate) => hasLabels(candidate, wave.labels ?? {}));
  const free = matching.filter(({ hasJoined }) => !hasJoined);
  return free.slice(0, sizeOf(wave, matching.length)).flatMap(({ ids }) => ids);
}

/** A swarm has the labels of each of its managers. */
function hasLabels({ labels }: Candidate, wanted: Labels): boolean {
  return labels.some((own) => Object.entries(wanted).every(([name, value]) => own[name] === value));
}

function sizeOf({ count, percent }: Wave, matching: number): number {
  if (count !== undefined) return count;
  return percent === undefined ? matching : Math.ceil((percent * matching) / 100);
}
