import { type Check, checkResult, type Fact, type Finding, unknownCheck } from '../../../core/doctor.rules.ts';
import type { RefusedFault } from '../../../../machines/refusals.ts';
import { printable } from '../../../core/text.rules.ts';
import type { WrittenService } from '../../../bundle/plan/writtenServices.rules.ts';
import type { ServiceProblem, Sha } from '../../../../machines/types.ts';

/** What the new defaults of this version (docs/upgrading.md) would judge of the applied release. */
export interface UpgradeFacts {
  dir: string;
  /** Paths of the bundle that containers may write to. */
  writable: readonly string[];
  services: readonly WrittenService[];
  /** Services whose kind an agent with jobs has recorded. */
  recorded: ReadonlySet<string>;
  jobTimeoutS: number;
  /** Containers that are not of the release. */
  drifted: Fact<readonly Pick<ServiceProblem, 'service' | 'detail'>[]>;
  drift: 'heal' | 'report';
  /** What its compose files ask for and this host does not do. */
  withoutEffect: readonly RefusedFault[];
  /** Services whose `pull_policy` does not pull with every bundle, which earlier versions did. */
  kept: readonly { service: string; image: string; policy: string }[];
  /** Networks of the project that are not as the release defines them, and those that it does not define, with foreign users. */
  networks: Fact<{
    changed: readonly { name: string; why: string; users: readonly string[] }[];
    unused: readonly { name: string; users: readonly string[] }[];
  }>;
  /** Releases with files that neither their bundles nor the agent wrote, with some of the paths. */
  written: readonly { sha: Sha; paths: readonly string[] }[];
}

/** One check for each new default; a finding is what would change on this host. */
export function upgradeChecks(facts: Fact<UpgradeFacts | null>): Check[] {
  if ('unknown' in facts) return names.map((name) => unknownCheck(name, facts.unknown));
  if (facts.known === null) return names.map((name) => checkResult(name, 'nothing is applied', []));
  const { known } = facts;
  return [
    checkResult(names[0], 'no container can write to its bundle', writableFindings(known)),
    checkResult(names[1], 'no release has files of others', writtenFindings(known)),
    checkResult(names[2], 'no service becomes a job', jobFindings(known)),
    driftCheck(known),
    checkResult(names[4], 'every key has an effect', withoutEffectFindings(known)),
    checkResult(names[5], 'every image is pulled with every bundle', keptFindings(known)),
    networksCheck(known),
  ];
}

const names = ['writable mounts', 'kept releases', 'jobs', 'drift', 'keys', 'pull policies', 'networks'] as const;

function networksCheck({ networks }: UpgradeFacts): Check {
  if ('unknown' in networks) return unknownCheck(names[6], networks.unknown);
  const { changed, unused } = networks.known;
  const free = 'disconnect or remove these containers before the next apply';
  const ofChanged = changed.map(({ name, why, users }) =>
    users.length === 0
      ? {
          problem: `network ${printable(name)}: ${printable(why)}: the next apply creates it again, with the services on it`,
          fix: 'apply in a maintenance window, or write into the bundle what the network has now',
        }
      : {
          problem: `network ${printable(name)}: ${printable(why)}: the next apply fails, since containers outside the project use it: ${users.map((user) => printable(user)).join(', ')}`,
          fix: free,
        },
  );
  const ofUnused = unused.map(({ name, users }) => ({
    problem:
      users.length === 0
        ? `network ${printable(name)}: no service uses it: the next apply removes it`
        : `network ${printable(name)}: no service uses it: the next apply leaves it to ${users.map((user) => printable(user)).join(', ')}`,
    fix:
      users.length === 0
        ? 'nothing, unless something outside the project needs it: make that a network of its own'
        : free,
  }));
  return checkResult(names[6], 'every network is as the release defines it', [...ofChanged, ...ofUnused]);
}

function keptFindings({ kept }: UpgradeFacts): Finding[] {
  return kept.map(({ service, image, policy }) => ({
    problem: `${printable(service)}: pull_policy ${printable(policy)} is honoured now: a bundle no longer pulls ${printable(image)} if it is on the host`,
    fix: 'leave pull_policy out, or write always, where its tag moves',
  }));
}

function withoutEffectFindings({ withoutEffect }: UpgradeFacts): Finding[] {
  return withoutEffect.map(({ text, cure }) => ({
    problem: `${text}: it keeps running, and the next bundle that says so is refused`,
    fix: cure,
  }));
}

function writableFindings({ dir, writable }: UpgradeFacts): Finding[] {
  return writable.map((path) => ({
    problem: `containers can write to ./${printable(path)} of the bundle: it keeps running, and the next bundle with this mount is refused`,
    fix: `mount it with :ro, or move its data from ${dir}/${printable(path)} into a named volume`,
  }));
}

function writtenFindings({ written }: UpgradeFacts): Finding[] {
  return written.map(({ sha, paths }) => ({
    problem: `release ${sha} has files that its bundle does not have (${paths.map((path) => printable(path)).join(', ')} …): it is no longer removed`,
    fix: 'copy what is needed, then: sudo deployd run --once --prune',
  }));
}

const reasons = {
  awaited: 'another service awaits its end',
  mode: 'deploy.mode is one of a job',
  restart: 'restart is no, and it has no healthcheck',
} as const;

function jobFindings({ services, recorded, jobTimeoutS }: UpgradeFacts): Finding[] {
  return services.flatMap(({ name, jobReason }) =>
    jobReason === null || recorded.has(name)
      ? []
      : {
          problem: `${printable(name)} is a job (${reasons[jobReason]}): the next apply waits up to ${jobTimeoutS} s until it ends with 0`,
          fix: 'raise job_timeout_s where it needs longer; a service that must keep running gets a restart policy or a healthcheck',
        },
  );
}

function driftCheck({ drifted, drift }: UpgradeFacts): Check {
  if ('unknown' in drifted) return unknownCheck(names[3], drifted.unknown);
  const effect = drift === 'heal' ? 'the second tick creates it again' : 'each tick reports it';
  const findings = drifted.known.map(({ service, detail }) => ({
    problem: `${printable(service)}: ${printable(detail)}: ${effect}`,
    fix: 'put the change into a bundle, or set drift: report',
  }));
  return checkResult(names[3], 'all containers match the release by image and content', findings);
}
