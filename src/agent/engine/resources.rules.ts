import { formatAddress, parseAddress, parseSubnet, type TakenPort } from '../../bundle/compose/networks.rules.ts';
import type { AttachedNetworks, ContainerInspection, ContainerListEntry, Mount } from './container.rules.ts';
import type { EngineMeans } from '../../bundle/plan/bundleToStart.rules.ts';
import { architectureOf } from '../../bundle/plan/images.rules.ts';

/** One container in the engine's list, with the fields that name the resources it uses. */
export interface ResourceUserListEntry extends Pick<ContainerListEntry, 'Id' | 'Names' | 'Labels'> {
  Image: string;
  ImageID: string;
  Mounts: Mount[] | null;
  NetworkSettings?: AttachedNetworks | null;
}

/** A container of any project, and the resources that cannot be removed while it exists. */
export interface ResourceUser {
  id: string;
  name: string;
  /** Compose project, null without one. */
  project: string | null;
  /** The image reference that it was created from, or an image id. */
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** The same with their modes; of a volume also its name. */
  mounted: { path: string; volume: string | null; target: string; isWritable: boolean }[];
  /** Names of its volumes and networks. */
  volumes: string[];
  networks: string[];
}

/** The resources of a container, from the engine's list. */
export function resourceUserOfListEntry({
  Id,
  Names,
  Labels,
  Image,
  ImageID,
  Mounts,
  NetworkSettings,
}: ResourceUserListEntry): ResourceUser {
  const Name = Names?.find((each) => each.lastIndexOf('/') === 0) ?? Id;
  const about = { Id, Name, Image: ImageID, Mounts: Mounts ?? [], Config: { Image, Labels } };
  return resourceUserOf({ ...about, ...(NetworkSettings && { NetworkSettings }) });
}

/** The resources of a container, from its inspection. */
export function resourceUserOf(
  info: Pick<ContainerInspection, 'Id' | 'Name' | 'Image' | 'Config' | 'Mounts' | 'NetworkSettings'>,
): ResourceUser {
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    project: info.Config.Labels?.['com.docker.compose.project'] ?? null,
    image: info.Config.Image,
    imageId: info.Image,
    mounts: info.Mounts.map(({ Source }) => Source).filter((source) => source !== ''),
    mounted: info.Mounts.map(({ Source, Name = null, Destination = '', RW = true }) => ({
      ...{ path: Source, volume: Name, target: Destination, isWritable: RW },
    })),
    volumes: info.Mounts.flatMap(({ Name }) => Name ?? []),
    networks: Object.keys(info.NetworkSettings?.Networks ?? {}),
  };
}

/** A network of the engine, and the compose project that made it; null without one. */
export interface NamedNetwork {
  id: string;
  name: string;
  project: string | null;
}

/**
 * Names that several networks have, of which one belongs to the project by label or name, with the ids of all; sorted.
 */
export function ambiguousNetworks(
  networks: readonly NamedNetwork[],
  project: string,
): { name: string; ids: string[] }[] {
  const isOwn = (each: NamedNetwork) => each.project === project || each.name.startsWith(`${project}_`);
  const names = [...new Set(networks.filter(isOwn).map(({ name }) => name))].sort();
  return names
    .map((name) => ({ name, ids: networks.filter((each) => each.name === name).map(({ id }) => id) }))
    .filter(({ ids }) => ids.length > 1);
}

/** A network of the engine with its configuration as facts, in the form of `networkDefinitionOf`. */
export interface DefinedNetwork extends NamedNetwork {
  facts: readonly string[];
  /** True for a network of Podman, which reports only some of the facts. */
  isPodman: boolean;
}

/** A network in the engine's list. */
export interface NetworkEntry {
  Driver?: string;
  Internal?: boolean;
  Attachable?: boolean;
  EnableIPv6?: boolean;
  Options?: Record<string, string> | null;
  Labels?: Record<string, string> | null;
  IPAM?: {
    Driver?: string;
    Options?: Record<string, string> | null;
    Config?: EngineSubnet[] | null;
  } | null;
}

interface EngineSubnet {
  Subnet?: string;
  Gateway?: string;
  IPRange?: string;
  AuxiliaryAddresses?: Record<string, string> | null;
}

/** Facts that Podman reports as they were requested. */
export const factOfPodman = /^(driver|label|subnet) |^internal$/;

/** The configuration of a network in the engine's list. */
export function networkFactsOf(entry: NetworkEntry, isPodman: boolean): string[] {
  const facts = factsOf({ ...entry, EnableIPv6: entry.EnableIPv6 === true });
  return isPodman ? facts.filter((fact) => factOfPodman.test(fact)) : facts;
}

export function factsOf({ Driver, Internal, Attachable, EnableIPv6, Options, Labels, IPAM }: NetworkEntry): string[] {
  const each = (kind: string, values: Record<string, string> | null | undefined) =>
    Object.entries(values ?? {}).map(([name, value]) => `${kind} ${name}=${value}`);
  const ipamDriver = IPAM?.Driver ?? '';
  return [
    `driver ${Driver || 'bridge'}`,
    ...(Internal === true ? ['internal'] : []),
    ...(Attachable === true ? ['attachable'] : []),
    ...(EnableIPv6 === undefined ? [] : [EnableIPv6 ? 'ipv6' : 'without ipv6']),
    ...each('option', Options),
    ...each('label', Labels).filter((fact) => !fact.startsWith('label com.docker.compose.')),
    ...(/^(default)?$/.test(ipamDriver) ? [] : [`ipam driver ${ipamDriver}`]),
    ...each('ipam option', IPAM?.Options),
    ...(IPAM?.Config ?? []).flatMap(subnetFacts),
  ];
}

function subnetFacts({ Subnet = '', Gateway = '', IPRange = '', AuxiliaryAddresses }: EngineSubnet): string[] {
  if (Subnet === '') return [];
  const subnet = canonicalSubnet(Subnet);
  const addresses = Object.entries(AuxiliaryAddresses ?? {});
  return [
    `subnet ${subnet}`,
    ...(Gateway === '' ? [] : [`gateway ${canonicalAddress(Gateway)} of ${subnet}`]),
    ...(IPRange === '' ? [] : [`range ${canonicalSubnet(IPRange)} of ${subnet}`]),
    ...addresses.map(([name, address]) => `address ${name} of ${subnet}=${canonicalAddress(address)}`),
  ];
}

function canonicalSubnet(text: string): string {
  const subnet = parseSubnet(text);
  return subnet === null ? text : `${formatAddress(subnet)}/${subnet.prefix}`;
}

/** Podman and some engines add the length of the subnet to a gateway. */
function canonicalAddress(text: string): string {
  const address = parseAddress(text.replace(/\/\d+$/, ''));
  return address === null ? text : formatAddress(address);
}

/** A volume of a release. */
export interface RecordedVolume {
  name: string;
  /**
   * Reported by the engine, for messages: engines before 23.0 change it with the content. Null when the engine reports
   * none.
   */
  created_at: string | null;
  /** Reported by the file system, which never changes it. Null when the agent cannot read it. */
  born_at: string | null;
}

/** The volumes that the engine has. */
export interface ExistingVolumes {
  volumes: readonly RecordedVolume[];
  /** False when the engine could not list all of them: a driver did not answer. */
  isComplete: boolean;
  /** True when the engine never changes the creation time of a volume. */
  hasStableTimes: boolean;
}

/** A volume of the engine. */
export interface VolumeUse {
  name: string;
  /** Bytes; null if the engine does not know the size. */
  size: number | null;
  /** True if a container mounts it, running or not. */
  isMounted: boolean;
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
