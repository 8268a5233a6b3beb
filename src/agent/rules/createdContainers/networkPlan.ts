import { contains, formatAddress, parseAddress, parseSubnet } from '../../../bundle/compose/networks.rules.ts';
import type { ResourceUser } from '../health/resourceUser.ts';
import type { CreatedContainer } from './createdContainer.ts';
import type { NamedNetwork } from './ambiguousNetworks.ts';
import { listOf, type ModelObject, objectOf, textOf } from './renderedModel.ts';

/** A network of the engine with its configuration as facts, in the words of `networkDefinitionOf`. */
export interface DefinedNetwork extends NamedNetwork {
  facts: readonly string[];
  /** True for one of Podman, which reports some of the facts only. */
  isPodman: boolean;
}

/** Configurations of networks as facts, by engine name. External networks have none. */
export type NetworkDefinitions = Readonly<Record<string, readonly string[]>>;

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

/** What has to be done to networks before compose creates those of a release. */
export interface NetworkPlan {
  /** Networks of the project that are removed first, because they are not as defined or in the way of one that is. */
  removed: { network: DefinedNetwork; why: string }[];
  /** Those that cannot be removed, since containers outside the project's services use them. */
  conflicts: { name: string; why: string; users: string[] }[];
}

interface PlanInput {
  wanted: NetworkDefinitions;
  /** What another release asked for, which the engine may still have. */
  asked: NetworkDefinitions;
  networks: readonly DefinedNetwork[];
  /** Containers that are not of the project's services. */
  foreign: readonly Pick<ResourceUser, 'name' | 'networks'>[];
  project: string;
  /** The form in which a definition stores a fact that holds a secret. */
  hide: (fact: string) => string;
}

/** Facts that a network has only if its file asks for them. The engine itself may add any other one. */
const onlyOnDemand = /^(internal$|attachable$|label |option |address )/;

/** Options that the engine's own defaults may add. */
const defaultOption =
  /^option com\.docker\.network\.(enable_ipv[46]|driver\.mtu|bridge\.|driver\.overlay\.vxlanid_list)/;

/** Facts that Podman reports as they were asked for. */
const factOfPodman = /^(driver|label|subnet) |^internal$/;

/** The configuration of a network in a rendered model. */
export function networkDefinitionOf(network: ModelObject): string[] {
  const ipam = objectOf(network['ipam']);
  const ipv6 = textOf(network['enable_ipv6']);
  return factsOf({
    Driver: textOf(network['driver']),
    Internal: textOf(network['internal']) === 'true',
    Attachable: textOf(network['attachable']) === 'true',
    ...(ipv6 !== '' && { EnableIPv6: ipv6 === 'true' }),
    Options: textsByName(network['driver_opts']),
    Labels: textsByName(network['labels']),
    IPAM: {
      Driver: textOf(ipam['driver']),
      Options: textsByName(ipam['options']),
      Config: listOf(ipam['config']).map((each) => {
        const { subnet, gateway, ip_range, aux_addresses } = objectOf(each);
        return {
          Subnet: textOf(subnet),
          Gateway: textOf(gateway),
          IPRange: textOf(ip_range),
          AuxiliaryAddresses: textsByName(aux_addresses),
        };
      }),
    },
  });
}

/** The configuration of a network in the engine's list. */
export function networkFactsOf(entry: NetworkEntry, isPodman: boolean): string[] {
  const facts = factsOf({ ...entry, EnableIPv6: entry.EnableIPv6 === true });
  return isPodman ? facts.filter((fact) => factOfPodman.test(fact)) : facts;
}

/**
 * Compares the networks of the project with the definitions of a release. One that differs is removed, so that compose creates it
 * again; so is one that the release does not define, if it has a subnet that the release needs.
 */
export function planNetworks({ wanted, asked, networks, foreign, project, hide }: PlanInput): NetworkPlan {
  const of = (definitions: NetworkDefinitions, name: string) => definitions[name] ?? definitions[hide(name)];
  const subnets = Object.values(wanted).flatMap(subnetsIn);
  const found = networks
    .filter((each) => each.project === project)
    .flatMap((network) => {
      const defined = of(wanted, network.name);
      const why = defined
        ? differenceOf(network, { defined, asked: of(asked, network.name) ?? [], hide })
        : overlapOf(network, subnets);
      return why === null ? [] : [{ network, why }];
    });
  const usersOf = ({ name }: DefinedNetwork) =>
    foreign.filter((user) => user.networks.includes(name)).map((user) => user.name);
  return {
    removed: found.filter(({ network }) => usersOf(network).length === 0),
    conflicts: found
      .map(({ network, why }) => ({ name: network.name, why, users: usersOf(network).sort() }))
      .filter(({ users }) => users.length > 0),
  };
}

/** Names of defined networks that something else made and that no container of the project is on. */
export function takenNetworks(
  networks: readonly NamedNetwork[],
  { wanted, project, hide, created }: Pick<PlanInput, 'wanted' | 'project' | 'hide'> & { created: CreatedContainer[] },
): string[] {
  const isDefined = (name: string) => Object.hasOwn(wanted, name) || Object.hasOwn(wanted, hide(name));
  return networks
    .filter(({ name, project: owner }) => owner !== project && isDefined(name))
    .map(({ name }) => name)
    .filter((name) => containersOn([name], created).length === 0);
}

/** The networks of the project that the applied release does not define, with the containers that use them. */
export function unusedNetworks(
  networks: readonly DefinedNetwork[],
  { names, users, project }: { names: (name: string) => boolean; users: PlanInput['foreign']; project: string },
): { network: DefinedNetwork; users: string[] }[] {
  return networks
    .filter((network) => network.project === project && !names(network.name))
    .map((network) => {
      const using = users.filter((user) => user.networks.includes(network.name));
      return { network, users: using.map(({ name }) => name).sort() };
    });
}

/** Containers that are on one of the networks, and those that share a namespace with one of these. */
export function containersOn(names: readonly string[], containers: readonly CreatedContainer[]): CreatedContainer[] {
  const isOn = ({ NetworkSettings }: CreatedContainer) =>
    names.some((name) => Object.hasOwn(NetworkSettings.Networks ?? {}, name));
  const chosen = new Set(containers.filter(isOn));
  const sharesWithChosen = ({ HostConfig: { NetworkMode, PidMode, IpcMode } }: CreatedContainer) =>
    [...chosen].some(({ Id }) => [NetworkMode, PidMode, IpcMode].includes(`container:${Id}`));
  for (let size = -1; size !== chosen.size;) {
    size = chosen.size;
    for (const container of containers) if (sharesWithChosen(container)) chosen.add(container);
  }
  return [...chosen];
}

/** Names, without values, what a network has but should not have, or lacks; null when it is as defined. */
function differenceOf(
  { facts, isPodman }: DefinedNetwork,
  { defined, asked, hide }: { defined: readonly string[]; asked: readonly string[]; hide: PlanInput['hide'] },
): string | null {
  const isIn = (list: readonly string[], fact: string) => list.includes(fact) || list.includes(hide(fact));
  const hasOtherIpam = [...facts, ...defined].some((fact) => fact.startsWith('ipam driver '));
  const isCompared = (fact: string) =>
    (!isPodman || factOfPodman.test(fact)) && !(hasOtherIpam && /^(subnet|gateway|range|address) /.test(fact));
  const sealed = new Set(facts.map(hide));
  const lacks = defined.filter((fact) => isCompared(fact) && !facts.includes(fact) && !sealed.has(fact));
  const isUnwanted = (fact: string) =>
    !isIn(defined, fact) && (isIn(asked, fact) || (onlyOnDemand.test(fact) && !defaultOption.test(fact)));
  const extra = facts.filter((fact) => !fact.startsWith('driver ') && isCompared(fact) && isUnwanted(fact));
  const parts = [...lacks, ...extra].map((fact) => fact.replace(/=.*$/s, '').replace(/^hidden .*$/s, 'a secret value'));
  return parts.length === 0 ? null : `its definition changed (${[...new Set(parts)].sort().join(', ')})`;
}

function overlapOf({ facts }: DefinedNetwork, wanted: readonly string[]): string | null {
  const overlaps = (one: string, other: string) => {
    const [first, second] = [parseSubnet(one), parseSubnet(other)];
    return first !== null && second !== null && (contains(first, second) || contains(second, first));
  };
  const taken = subnetsIn(facts).find((own) => wanted.some((other) => overlaps(own, other)));
  return taken === undefined ? null : `its subnet ${taken} is needed by another network`;
}

function subnetsIn(facts: readonly string[]): string[] {
  return facts.flatMap((fact) => (fact.startsWith('subnet ') ? [fact.slice('subnet '.length)] : []));
}

function factsOf({ Driver, Internal, Attachable, EnableIPv6, Options, Labels, IPAM }: NetworkEntry): string[] {
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

function textsByName(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(objectOf(value)).map(([name, each]) => [name, textOf(each)]));
}
