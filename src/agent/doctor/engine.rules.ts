import type { RefusedFault } from '../../../machines/refusals.ts';
import type { ReportedContainer, ServiceProblem, Sha } from '../../../machines/types.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import {
  type Check,
  checkResult,
  type Fact,
  type FileFacts,
  type Finding,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { leaderInstead, membershipTrouble, type SwarmMembership, type SwarmNode } from '../swarm/swarmState.rules.ts';
import { composeRangeOf } from '../engine/compose.rules.ts';

/** Facts of the container engine. */
interface EngineFacts {
  socket: FileFacts;
  /** Name of the group that owns the socket. */
  group: string;
  /** Error of a request to it, null when it responded. */
  error: string | null;
}

/** Checks that the engine's socket exists, is accessible to the agent, and responds. */
export function checkEngine({ socket, group, error }: EngineFacts, agent: ProgramUser): Check {
  const { path, found, writable } = socket;
  if (found === 'hidden') return unknownCheck('engine', `${path} cannot be seen by this user: use sudo`);
  if (found === null)
    return checkResult('engine', path, [
      { problem: `there is no socket ${path}`, fix: `sudo systemctl enable --now ${unitOf(path)}` },
    ]);
  if (writable === false) {
    const problem = `${agent.name} may not use ${path}`;
    return checkResult('engine', path, [{ problem, fix: accessFix(path, group, agent) }]);
  }
  if (error !== null && writable === null) return unknownCheck('engine', error);
  const fix = `sudo systemctl restart ${unitOf(path)}`;
  return checkResult('engine', path, error === null ? [] : [{ problem: error, fix }]);
}

/** The systemd unit behind a socket: Podman's names it in its path. */
function unitOf(path: string): string {
  return path.includes('podman') ? 'podman.socket' : 'docker';
}

/** Membership in the group of root would give the agent more rights than access to the engine. */
function accessFix(path: string, group: string, { name }: ProgramUser): string {
  return group === 'root'
    ? `give ${path} and its directory a group other than root, and ${name} that group: SocketGroup= of its unit`
    : `sudo usermod -aG ${group} ${name}`;
}

/** Checks the compose program; `error` is null when it is usable, `podman` the version of that engine if it is one. */
export function checkComposeProgram(error: string | null, podman: string | null): Check {
  const { before } = composeRangeOf(podman);
  const install = `sudo apt-get install ${podman === null ? 'docker-compose-plugin' : 'docker-compose'}`;
  const fix = before === null ? install : 'name a compose that works as compose: in config.yaml, or use a newer Podman';
  const findings = error === null ? [] : [{ problem: error, fix }];
  return checkResult('compose', error === null ? 'v2, new enough' : 'missing or of another version', findings);
}

/** The state of the engine's swarm, and whether stacks can be deployed. */
interface SwarmCheckFacts {
  membership: SwarmMembership;
  /** Every node of the swarm; empty if it cannot be queried. */
  nodes: readonly SwarmNode[];
  /** Why `docker` does not run; null when it does. */
  dockerError: string | null;
}

/** Checks that the agent on this node can act, or names the node that does. */
export function checkSwarm({ membership, nodes, dockerError }: SwarmCheckFacts): Check {
  const trouble = membershipTrouble(membership);
  const findings: Finding[] = trouble === null ? [] : [trouble];
  if (dockerError !== null)
    findings.push({ problem: `stacks cannot be deployed: ${dockerError}`, fix: 'sudo apt-get install docker-cli' });
  return checkResult('swarm', trouble === null ? describe(membership, nodes) : 'no leader is known', findings);
}

function describe(membership: SwarmMembership, nodes: readonly SwarmNode[]): string {
  const managers = nodes.filter(({ ManagerStatus }) => ManagerStatus !== undefined).length;
  const leader = leaderInstead(membership, nodes) ?? 'this node';
  return `${leader} leads ${nodes.length} nodes, of which ${managers} are managers`;
}

/** How a missing service is restored. */
interface HealingFacts {
  /** Config `heal`. */
  heals: boolean;
  configPath: string;
}

/** The running containers, and their problems. */
export interface ServicesFacts {
  containers: readonly ReportedContainer[];
  problems: readonly Pick<ServiceProblem, 'service' | 'detail' | 'cure'>[];
}

/** Checks that every service of the applied release runs and is healthy, by the same rules as a tick (spec §12.4). */
export function checkServices(seen: Fact<ServicesFacts>, facts: HealingFacts): Check {
  const name = 'services';
  if ('unknown' in seen) return unknownCheck(name, seen.unknown);
  const { containers, problems } = seen.known;
  const detail = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  return checkResult(
    name,
    detail,
    problems.map((problem) => findingOf(problem, facts)),
  );
}

function findingOf(
  { service, detail, cure }: ServicesFacts['problems'][number],
  { heals, configPath }: HealingFacts,
): Finding {
  const problem = `${service}: ${detail}`;
  if (cure === 'accept') return { problem, fix: 'sudo deployd accept-volumes' };
  if (detail !== 'missing' && cure !== 'recreate') return { problem, fix: `sudo deployd logs ${service}` };
  return { problem, fix: heals ? 'sudo deployd run --once' : `sudoedit ${configPath} (heal: true)` };
}

/** Findings of the new defaults of this version (docs/upgrading.md) about the applied release. */
export interface UpgradeFacts {
  dir: string;
  /** Paths of the bundle that containers may write to. */
  writable: readonly string[];
  services: readonly WrittenService[];
  /** Services whose kind is recorded by an agent with jobs. */
  recorded: ReadonlySet<string>;
  jobTimeoutS: number;
  /** Containers that do not belong to the release. */
  drifted: Fact<readonly Pick<ServiceProblem, 'service' | 'detail'>[]>;
  drift: 'heal' | 'report';
  /** Features of its compose files that this host does not support. */
  withoutEffect: readonly RefusedFault[];
  /** Services whose `pull_policy` does not pull with every bundle, unlike in earlier versions. */
  kept: readonly { service: string; image: string; policy: string }[];
  /**
   * Networks of the project that differ from their definition, and networks that the release does not define, with
   * other users.
   */
  networks: Fact<{
    changed: readonly { name: string; why: string; users: readonly string[] }[];
    unused: readonly { name: string; users: readonly string[] }[];
  }>;
  /** Releases with files that neither their bundles nor the agent wrote, with some of the paths. */
  written: readonly { sha: Sha; paths: readonly string[] }[];
}

/** One check for each new default; a finding describes a change on this host. */
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
        ? 'nothing, unless something outside the project needs it: then create a separate network for it'
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
