import { contains, parseSubnet } from '../../bundle/compose/networks.rules.ts';
import type { CreatedContainer } from '../engine/createdContainer.rules.ts';
import { type DefinedNetwork, factOfPodman, type NamedNetwork, type ResourceUser } from '../engine/resources.rules.ts';
import type { NetworkDefinitions } from '../release/grantedPrivileges.rules.ts';

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
  /** Definitions of the applied release and of the attempt, by which networks of the engine may have been created. */
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
