import type { EngineMeans } from '../../../bundle/plan/bundleToStart.rules.ts';
import { architectureOf } from '../../../bundle/plan/images.rules.ts';
import type { TakenPort } from '../../../bundle/compose/networks.rules.ts';

/** What an engine says of itself. */
export interface EngineInfoEntry {
  Name?: string;
  NCPU?: number;
  MemTotal?: number;
  Architecture?: string;
  SecurityOptions?: string[] | null;
  DefaultAddressPools?: { Base?: string }[] | null;
  Swarm?: { LocalNodeState?: string } | null;
}

/** The fields used of a container in the engine's list. */
export interface PublishingEntry {
  Id: string;
  Names: string[] | null;
  Labels: Record<string, string> | null;
  State?: string;
  Ports?: { IP?: string; PublicPort?: number; Type?: string }[] | null;
  HostConfig?: { NetworkMode?: string } | null;
}

/** The fields used of a network in the engine's list. */
export interface AddressedNetwork {
  Name: string;
  Scope?: string;
  Labels: Record<string, string> | null;
  IPAM?: { Driver?: string; Config?: { Subnet?: string }[] | null } | null;
}

/** What was read of an engine and of the host of the agent. */
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

/** What an engine can do for a project, and what of the host others use. */
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
    // Podman has the words of images
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
 * The ports that nothing of the project uses. Programs of the host are left out where the engine may be on another one, or where
 * one of them may be a container of the project: one on the network of the host, or one that the engine starts again just now.
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
