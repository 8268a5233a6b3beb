import type { ReportedContainer, ServiceProblem } from '../../../machines/types.ts';
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
import type { unusedVolumes } from '../release/volumes.rules.ts';

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

/** Names the anonymous volumes that no container mounts: nothing removes them, since they may hold data. */
export function checkUnusedVolumes(unused: Fact<ReturnType<typeof unusedVolumes>>): Check {
  const name = 'unused volumes';
  if ('unknown' in unused) return unknownCheck(name, unused.unknown);
  const lines = unused.known.map(({ name: volume, service, target, size }) => {
    const megabytes = size === null ? 'of unknown size' : `${(size / 2 ** 20).toFixed(1)} MiB`;
    return `${printable(`${service}:${target}`)}, ${megabytes}: sudo docker volume rm ${volume}`;
  });
  const none = 'no anonymous volume of earlier containers is left';
  const some = 'anonymous volumes of earlier containers, which nothing removes';
  return checkResult(name, lines.length === 0 ? none : `${some}: ${lines.join('; ')}`, []);
}
