import { contains, parseSubnet } from '../../bundle/compose/networks.rules.ts';
import {
  type CreatedContainer,
  type CreatedNetwork,
  type CreatedResource,
  type CreatedResources,
  type CreatedVolume,
  resourceFactsOf,
  serviceOf,
} from '../engine/createdContainer.rules.ts';
import { type DefinedNetwork, factOfPodman, type NamedNetwork, type ResourceUser } from '../engine/resources.rules.ts';
import type { GrantedPrivileges, NetworkDefinitions } from '../release/grantedPrivileges.rules.ts';
import { type Allowance, containerFactsOf } from '../release/privileges.rules.ts';
import type { ProjectResources } from '../state/state.rules.ts';

/** A difference between what the engine has and what the model grants. */
export interface Difference {
  /** `service web`, `network deployd-eu-1_default`, `volume …`. */
  owner: string;
  /** `has mount /x bind /etc`, `lacks no-new-privileges`. */
  fact: string;
  /** The containers to recreate. */
  containers: CreatedContainer[];
  network: CreatedNetwork | null;
}

/** How facts are compared with an allowance. */
interface ComparisonOptions {
  /** The release's directory. */
  dir: string;
  /** The form in which `GrantedPrivileges` stores a fact that holds a secret. */
  hide: (fact: string) => string;
}

/** A granted fact that covers all facts matching the pattern. */
const wildcards: readonly [fact: string, covered: RegExp][] = [
  ['privileged', /^(capability|device|security) /],
  ['capability ALL', /^capability /],
  ['mount *', /^(mount|write|propagation) /],
  ['link *', /^link /],
  ['pid container', /^pid service /],
  ['ipc container', /^ipc service /],
  ['network container', /^network service /],
];

/** Facts that grant no privilege, or that apply without being in the model. */
const ignoredFact =
  /^(sysctl net\.|runtime |no-new-privileges$|without |subpath |(network|volume) of the project |cgroup private$|option (size|com\.docker\.network\.(enable_ipv[46]|driver\.mtu|bridge\.(enable_icc|enable_ip_masquerade|host_binding_ipv4)))=)/;

/** Fact that a volume or network belongs to the project, by its label. */
const ownershipFact = /^(network|volume) of the project /;

/**
 * Compares the created containers with the privileges that the model grants. They can differ: compose passes the mounts
 * of a container on to its successor, and uses existing networks and volumes unchanged. Anonymous volumes need no
 * grant. Containers of services outside the model are skipped.
 */
export function compareWithModel(
  granted: GrantedPrivileges,
  created: CreatedResources,
  options: ComparisonOptions,
): Difference[] {
  const services = created.containers.flatMap((container) => {
    const allowed = granted.services[serviceOf(container)];
    const facts = allowed
      ? deviationsOf(allowed, containerFactsOf(container, created, options.dir), {
          ...options,
          strict: !created.isPodman,
        })
      : [];
    const owner = `service ${serviceOf(container)}`;
    return facts.map((fact): Difference => ({ owner, fact, containers: [container], network: null }));
  });
  const networks = created.networks.flatMap((network) => {
    const containers = created.containers.filter((each) =>
      Object.hasOwn(each.NetworkSettings.Networks ?? {}, network.name),
    );
    const facts = resourceDeviations(granted.networks, network, options);
    return facts.map((fact): Difference => ({ owner: `network ${network.name}`, fact, containers, network }));
  });
  const volumes = created.volumes.flatMap((volume) => {
    const facts = resourceDeviations(granted.volumes, volume, options);
    return facts.map((fact): Difference => ({ owner: `volume ${volume.name}`, fact, containers: [], network: null }));
  });
  return [...services, ...networks, ...volumes];
}

/** `service web: has mount /x bind /etc; …`, without duplicates. */
export function formatDifferences(differences: readonly Difference[]): string {
  return [...new Set(differences.map(({ owner, fact }) => `${owner}: ${fact}`))].join('; ');
}

function resourceDeviations(
  granted: GrantedPrivileges['networks'],
  resource: CreatedNetwork | CreatedVolume,
  options: ComparisonOptions,
): string[] {
  const allowed = granted[resource.name] ?? granted[options.hide(resource.name)];
  return allowed ? deviationsOf(allowed, resourceFactsOf(resource), { ...options, strict: true }) : [];
}

/**
 * Facts that are not allowed, and missing required facts; unless `strict`, only those missing facts that Podman also
 * reports.
 */
function deviationsOf(
  { may, must }: Allowance,
  facts: readonly string[],
  { hide, strict }: ComparisonOptions & { strict: boolean },
): string[] {
  const has = new Set([...facts, ...facts.map(hide)]);
  const mayHave = new Set(may);
  const isCovered = (fact: string) => wildcards.some(([all, covered]) => mayHave.has(all) && covered.test(fact));
  const isGranted = (fact: string) =>
    ignoredFact.test(fact) || mayHave.has(fact) || mayHave.has(hide(fact)) || isCovered(fact);
  const beyond = facts.filter((fact) => !isGranted(fact)).map((fact) => `has ${fact}`);
  const required = strict ? must : must.filter((fact) => ownershipFact.test(fact));
  return [...beyond, ...required.filter((fact) => !has.has(fact)).map((fact) => `lacks ${fact}`)];
}

/**
 * Whether a volume has another driver or other options than the model defines; compose would keep such a volume. `hide`
 * gives the form in which `GrantedPrivileges` stores a secret fact. A volume outside the model is never different.
 */
export function isVolumeDifferent(
  { volumes }: GrantedPrivileges,
  volume: CreatedResource,
  hide: (fact: string) => string,
): boolean {
  const allowed = volumes[volume.name] ?? volumes[hide(volume.name)];
  if (!allowed) return false;
  const may = new Set(allowed.may);
  const facts = resourceFactsOf(volume);
  return facts.length !== may.size || !facts.every((fact) => may.has(fact) || may.has(hide(fact)));
}

/** Whether a container mounts one of the volumes or is attached to one of the networks. */
export function usesResources(
  { Mounts, NetworkSettings }: CreatedContainer,
  { volumes, networks }: ProjectResources,
): boolean {
  const attached = Object.keys(NetworkSettings.Networks ?? {});
  return (Mounts ?? []).some(({ Name = '' }) => volumes.includes(Name)) || attached.some((n) => networks.includes(n));
}

/** Work on networks before compose creates the networks of a release. */
interface NetworkPlan {
  /**
   * Networks of the project to remove first, because they differ from their definition or conflict with a defined
   * network.
   */
  removed: { network: DefinedNetwork; why: string }[];
  /** Networks that cannot be removed, because containers outside the project's services use them. */
  conflicts: { name: string; why: string; users: string[] }[];
}

interface PlanInput {
  wanted: NetworkDefinitions;
  /** Definitions by another release that the engine may still have. */
  asked: NetworkDefinitions;
  networks: readonly DefinedNetwork[];
  /** Containers that do not belong to the project's services. */
  foreign: readonly Pick<ResourceUser, 'name' | 'networks'>[];
  project: string;
  /** The form in which a definition stores a fact that holds a secret. */
  hide: (fact: string) => string;
}

/** Facts that a network has only if its file defines them. The engine itself may add any other fact. */
const onlyOnDemand = /^(internal$|attachable$|label |option |address )/;

/** Options that the engine's own defaults may add. */
const defaultOption =
  /^option com\.docker\.network\.(enable_ipv[46]|driver\.mtu|bridge\.|driver\.overlay\.vxlanid_list)/;

/**
 * Compares the networks of the project with the definitions of a release. A network that differs is removed, so that
 * compose creates it again. A network that the release does not define is removed if it occupies a subnet that the
 * release needs.
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

/** Names of defined networks that another program made and that no container of the project uses. */
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

/** Containers on one of the networks, and containers that share a namespace with one of these. */
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

/** Names, without values, of surplus and missing properties of a network; null when it matches its definition. */
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
