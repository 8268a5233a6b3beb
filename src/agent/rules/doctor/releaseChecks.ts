import { type Check, checkResult, type Fact, type Finding, unknownCheck } from '../../../core/doctor.rules.ts';
import { printable } from '../../../core/text.rules.ts';
import type { Sha } from '../../../../machines/types.ts';
import type { unusedVolumes } from '../release/leftVolumes.ts';
import { describeLoss } from '../release/lostVolumes.ts';
import { describeUnfinished } from '../state/revertTries.ts';
import type { CheckContext } from './checkContext.ts';

/** Facts of the env's directory. */
export interface ReleasesFacts {
  envDir: string;
  count: number;
  keep: number;
  /** Description of `current` when the agent did not create it; else null. */
  foreignCurrent: string | null;
  /** Where `current` points in place of the applied release; null when it points there. */
  otherCurrent: string | null;
  /** True when files of the applied release are missing or damaged. */
  incomplete: boolean;
  /** Paths that no tick needs: staging directories, registry logins of a killed compose. */
  orphanedPaths: string[];
  /** Releases with files that neither their bundles nor the agent wrote, with some of the paths. */
  written: readonly { sha: Sha; paths: readonly string[] }[];
}

/** Checks that `current` is the agent's, the applied release is complete, and no files are left over (spec §12.7). */
export function checkReleases(releases: Fact<ReleasesFacts>): Check {
  const name = 'releases';
  if ('unknown' in releases) return unknownCheck(name, releases.unknown);
  const { envDir, count, keep, foreignCurrent, otherCurrent, incomplete, orphanedPaths } = releases.known;
  const tick = 'sudo deployd run --once';
  const findings: Finding[] = [];
  if (foreignCurrent !== null)
    findings.push({ problem: foreignCurrent, fix: `sudo mv ${envDir}/current ${envDir}/current.foreign` });
  if (otherCurrent !== null)
    findings.push({ problem: `current points to ${otherCurrent} in place of the applied release`, fix: tick });
  if (incomplete)
    findings.push({ problem: 'the applied release is not whole: the next tick applies it anew', fix: tick });
  if (count > keep + 1)
    findings.push({ problem: `${count} releases lie there, ${keep} are kept`, fix: `${tick} --prune` });
  const left = orphanedPaths.map((path) => ({ problem: `${path} was left behind`, fix: `sudo rm -rf ${path}` }));
  const summary = `${count} in ${envDir}/releases${describeWritten(releases.known.written)}`;
  return checkResult(name, summary, [...findings, ...left]);
}

/** The releases that `--prune` removes with files that somebody may need. */
function describeWritten(written: ReleasesFacts['written']): string {
  return written
    .map(({ sha, paths }) => {
      const named = paths.map((path) => printable(path)).join(', ');
      return `; release ${sha} has files that its bundle does not have (${named} …), and --prune removes it with them`;
    })
    .join('');
}

/** Checks that no volume of the applied release was lost. */
export function checkVolumes({ state }: CheckContext): Check {
  const name = 'volumes';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const lost = state.known?.lost_volumes ?? [];
  const fix = 'bring the data back from a backup; to go on without it: sudo deployd accept-volumes';
  const findings = lost.map((each) => {
    return { problem: `${describeLoss(each)}, of ${each.services.join(', ')}; found at ${each.at}`, fix };
  });
  return checkResult(name, 'none is lost', findings);
}

/** Names the anonymous volumes that no container mounts: nothing removes them, since they may hold data. */
export function checkUnusedVolumes(unused: Fact<ReturnType<typeof unusedVolumes>>): Check {
  const name = 'unused volumes';
  if ('unknown' in unused) return unknownCheck(name, unused.unknown);
  const lines = unused.known.map(({ name: volume, service, target, size }) => {
    const megabytes = size === null ? 'of unknown size' : `${(size / 2 ** 20).toFixed(1)} MiB`;
    return `${printable(`${service}:${target}`)}, ${megabytes}: docker volume rm ${volume}`;
  });
  const none = 'no anonymous volume of earlier containers is left';
  const some = 'anonymous volumes of earlier containers, which nothing removes';
  return checkResult(name, lines.length === 0 ? none : `${some}: ${lines.join('; ')}`, []);
}

/** Checks that the state belongs to this env; `broken` is the finding of an invalid file. */
export function checkState(
  { state }: CheckContext,
  { env, broken }: { env: string | null; broken: Finding | null },
): Check {
  const name = 'state';
  if (broken !== null) return checkResult(name, 'state.json', [broken]);
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  if (state.known === null) return checkResult(name, 'no tick has been made yet', []);
  const { unreverted } = state.known;
  const cause = unreverted && `${describeUnfinished(unreverted)}; the release before may not run as it did`;
  const findings = cause ? [{ problem: cause, fix: 'sudo deployd trace' }] : [];
  if (env === null || state.known.env === env) return checkResult(name, 'state.json', findings);
  const problem = `state.json belongs to env ${state.known.env}, config.yaml says ${env}; the next tick keeps it beside`;
  return checkResult(name, 'state.json', [{ problem, fix: 'sudo deployd run --once' }]);
}
