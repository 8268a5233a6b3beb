import { failedFault, type Fault } from '../../../machines/fault.ts';
import type { TakenPort } from '../../bundle/compose/networks.rules.ts';
import type { EngineMeans } from '../../bundle/plan/bundleToStart.rules.ts';
import { architectureOf } from '../../bundle/plan/images.rules.ts';
import type { Finding } from '../../core/doctor.rules.ts';
import { causeSaid, codeOfFailure, describeCause } from '../../core/failureCauses.rules.ts';
import { printable, visible } from '../../core/text.rules.ts';

/** An answer of a container engine that is not a success. */
interface EngineAnswer {
  statusCode: number;
  /** Its message; '' if there is none. */
  message: string;
}

/** Messages of an engine that starts or stops, or whose containerd does. */
const away = [
  /containerd\.sock/,
  /grpc: the client connection is closing|transport is closing|ttrpc: closed/,
  /(?:daemon|server) is (?:shutting down|not (?:yet )?ready)/i,
];

/**
 * The fault of an unsuccessful answer. ENGINE_ERROR: the engine works, but refuses or cannot perform the request; the
 * line contains its message, with cause and cure. DISK_INSUFFICIENT: its disk is full. RUNTIME_UNAVAILABLE: it is not
 * ready, as without a connection.
 */
export function engineAnswerFault({ statusCode, message }: EngineAnswer): Fault {
  const noLeader = noLeaderFault(message);
  if (noLeader !== null) return noLeader;
  const said = visible(
    message
      .replace(/^\(HTTP code \d+\) [\w ]+ - /, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const answer = `the container engine answers ${statusCode}${said === '' ? '' : `: ${said}`}`;
  if (isAway({ statusCode, message })) return failedFault('RUNTIME_UNAVAILABLE', answer);
  const cause = causeSaid(said);
  return failedFault(
    codeOfFailure(said, 'ENGINE_ERROR'),
    cause === null ? answer : `${answer}: ${describeCause(cause)}`,
  );
}

/** True for the fault of an engine that answered, but could not perform the request. */
export function isEngineRefusal({ code }: Fault): boolean {
  return code === 'ENGINE_ERROR' || code === 'DISK_INSUFFICIENT';
}

function isAway({ statusCode, message }: EngineAnswer): boolean {
  return statusCode === 503 || (statusCode >= 500 && away.some((pattern) => pattern.test(message)));
}

/** True for output of compose or docker that says the engine could not be reached. */
export function saysEngineAway(output: string): boolean {
  return /Cannot connect to the Docker daemon|error during connect: |ttrpc: closed|client connection is closing/.test(
    output,
  );
}

/** The engine's description of its place in a swarm. */
export interface SwarmMembership {
  NodeID: string;
  /** Only set for a manager. */
  Cluster?: { ID: string };
  /** `inactive` outside a swarm, `active` in one; `locked`, `pending` and `error` in between. */
  LocalNodeState: string;
  /** True on a manager. */
  ControlAvailable: boolean;
  /** Why this manager cannot query the swarm; empty if it can. */
  Error: string;
}

/** A node of a swarm. */
export interface SwarmNode {
  ID: string;
  Description: { Hostname: string };
  /** Whether it answers: `ready`, `down` … */
  Status?: { State: string };
  /** Whether it takes tasks: `active`, `pause`, `drain`. */
  Spec?: { Availability: string };
  /** Only of a manager. */
  ManagerStatus?: { Leader?: boolean };
}

/** True for an engine that is neither in a swarm nor joining one. */
export function isOutside({ LocalNodeState }: SwarmMembership): boolean {
  return LocalNodeState === 'inactive';
}

/** Why an agent on this node can neither act nor name the acting node, with the fix; null if it can. */
export function membershipTrouble(membership: SwarmMembership): Finding | null {
  const { NodeID, LocalNodeState, ControlAvailable, Error: trouble } = membership;
  if (LocalNodeState !== 'active')
    return {
      problem: `this engine is in no swarm (${printable(LocalNodeState)})`,
      fix: 'make it a manager of the swarm with docker swarm join',
    };
  if (!ControlAvailable)
    return {
      problem: 'this node is not a manager of its swarm',
      fix: `run docker node promote ${printable(NodeID)} on a manager, or end the agent of this node`,
    };
  return trouble === '' ? null : noLeader;
}

/** The same as the fault RUNTIME_UNAVAILABLE. */
export function membershipFault(membership: SwarmMembership): Fault | null {
  const trouble = membershipTrouble(membership);
  return trouble === null ? null : faultOf(trouble);
}

/**
 * The name of the node that acts instead of this one; null when this node is the leader. Throws when there is no
 * leader.
 */
export function leaderInstead({ NodeID }: Pick<SwarmMembership, 'NodeID'>, nodes: readonly SwarmNode[]): string | null {
  const leader = nodes.find(({ ManagerStatus }) => ManagerStatus?.Leader === true);
  if (leader === undefined) throw faultOf(noLeader);
  return leader.ID === NodeID ? null : printable(leader.Description.Hostname);
}

/** The fault of an answer by a manager of a swarm without a leader; null for other answers. */
export function noLeaderFault(answer: string): Fault | null {
  return /does not have a leader|rpc error: .*context deadline exceeded/.test(answer) ? faultOf(noLeader) : null;
}

const noLeader: Finding = {
  problem: 'the swarm has no leader',
  fix: 'start managers until more than half of them answer (docker node ls). Running containers are not affected',
};

function faultOf({ problem, fix }: Finding): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', `${problem}; ${fix}`);
}

/** The engine's description of itself. */
interface EngineInfoEntry {
  Name?: string;
  NCPU?: number;
  MemTotal?: number;
  Architecture?: string;
  SecurityOptions?: string[] | null;
  DefaultAddressPools?: { Base?: string }[] | null;
  Swarm?: { LocalNodeState?: string } | null;
}

/** The fields used of a container in the engine's list. */
interface PublishingEntry {
  Id: string;
  Names: string[] | null;
  Labels: Record<string, string> | null;
  State?: string;
  Ports?: { IP?: string; PublicPort?: number; Type?: string }[] | null;
  HostConfig?: { NetworkMode?: string } | null;
}

/** The fields used of a network in the engine's list. */
interface AddressedNetwork {
  Name: string;
  Scope?: string;
  Labels: Record<string, string> | null;
  IPAM?: { Driver?: string; Config?: { Subnet?: string }[] | null } | null;
}

/** The facts that were read from an engine and from the agent's host. */
export interface EngineReading {
  project: string;
  isPodman: boolean;
  apiVersion: string;
  info: EngineInfoEntry;
  containers: readonly PublishingEntry[];
  networks: readonly AddressedNetwork[];
  volumes: readonly { Name: string }[];
  /** The name of the host that the agent runs on, and the ports on which its programs listen. */
  hostname: string;
  listeners: readonly TakenPort[];
}

const projectLabel = 'com.docker.compose.project';

/** The capabilities of an engine for a project, and the resources of the host that others use. */
export function engineMeansOf(reading: EngineReading): EngineMeans {
  const { project, isPodman, apiVersion, info, networks, volumes } = reading;
  const isOutside = ({ Labels }: AddressedNetwork) => Labels?.[projectLabel] !== project;
  const isLocal = ({ Scope, IPAM }: AddressedNetwork) => Scope === 'local' && /^(default)?$/.test(IPAM?.Driver ?? '');
  // a node of a swarm does not list the networks that only other nodes use
  const isAlone = /^(inactive)?$/.test(info.Swarm?.LocalNodeState ?? '');
  return {
    isPodman,
    apiVersion,
    cpus: info.NCPU ?? 0,
    memoryBytes: info.MemTotal ?? 0,
    // Podman uses the constants of Go
    architecture: architectureOf(`linux/${info.Architecture ?? ''}`) ?? info.Architecture ?? null,
    hasIpv6Pool: (info.DefaultAddressPools ?? []).some(({ Base = '' }) => Base.includes(':')),
    networks: networks
      .filter((each) => isOutside(each) && isLocal(each))
      .map(({ Name, IPAM }) => {
        return { name: Name, subnets: (IPAM?.Config ?? []).flatMap(({ Subnet }) => Subnet ?? []) };
      }),
    names: {
      networks: isAlone ? new Set(networks.map(({ Name }) => Name)) : null,
      volumes: new Set(volumes.map(({ Name }) => Name)),
    },
    takenPorts: takenPortsOf(reading),
  };
}

/**
 * The ports that no container of the project uses. Programs of the host are left out if the engine may be on another
 * host. They are also left out if one of them may be a container of the project, in the host's network or just being
 * restarted by the engine.
 */
function takenPortsOf({ project, info, containers, hostname, listeners }: EngineReading): TakenPort[] {
  const isOwn = ({ Labels }: PublishingEntry) => Labels?.[projectLabel] === project;
  const [own, foreign] = [containers.filter(isOwn), containers.filter((each) => !isOwn(each))];
  const isRootless = (info.SecurityOptions ?? []).some((option) => option.includes('rootless'));
  const usesHost = own.some(({ HostConfig }) => HostConfig?.NetworkMode === 'host');
  const isStarting = own.some(({ State }) => State === 'restarting');
  const isVisible = info.Name === hostname && !isRootless && !usesHost && !isStarting;
  const ofOwn = own.flatMap(portsOf);
  const isOfOwn = ({ protocol, port }: TakenPort) =>
    ofOwn.some((each) => each.protocol === protocol && each.port === port);
  return [...foreign.flatMap(portsOf), ...(isVisible ? listeners.filter((each) => !isOfOwn(each)) : [])];
}

function portsOf({ Id, Names, Ports }: PublishingEntry): TakenPort[] {
  const user = `container ${(Names?.[0] ?? Id).replace(/^\//, '')}`;
  return (Ports ?? []).flatMap(({ IP = '', PublicPort, Type = 'tcp' }) =>
    PublicPort === undefined ? [] : [{ protocol: Type, address: IP === '' ? '0.0.0.0' : IP, port: PublicPort, user }],
  );
}

/** A version of compose, without its patch. */
export type ComposeVersion = readonly [major: number, minor: number];

/** The versions of compose that work with an engine. */
export interface ComposeRange {
  from: ComposeVersion;
  /** The first incompatible version; null for an engine that works with every newer version. */
  before: ComposeVersion | null;
  /** The supported versions, for a message. */
  requirement: string;
}

const oldest: ComposeVersion = [2, 20];
/** The first version that compares the ids of a container's networks with the expected ones. */
const comparesNetworks: ComposeVersion = [2, 31];
/**
 * The first version that returns a network's id instead of its name. With earlier versions, each `compose up` would
 * create every container again.
 */
const podmanWithIds: ComposeVersion = [5, 4];

/** For the version of Podman; null for another engine. */
export function composeRangeOf(podmanVersion: string | null): ComposeRange {
  const [major = 0, minor = 0] = (podmanVersion ?? '').split('.').map(Number);
  if (podmanVersion === null || !isBefore([major, minor], podmanWithIds))
    return { from: oldest, before: null, requirement: `compose ${oldest.join('.')} or newer is needed` };
  const requirement = `compose ${oldest.join('.')} to 2.30 is needed with Podman ${podmanVersion}, or Podman ${podmanWithIds.join('.')} or newer`;
  return { from: oldest, before: comparesNetworks, requirement };
}

/** Whether that version of compose is in the range. */
export function isInRange(version: ComposeVersion, { from, before }: ComposeRange): boolean {
  return !isBefore(version, from) && (before === null || isBefore(version, before));
}

function isBefore([major, minor]: ComposeVersion, other: ComposeVersion): boolean {
  return major < other[0] || (major === other[0] && minor < other[1]);
}
