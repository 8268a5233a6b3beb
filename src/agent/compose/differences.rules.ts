import {
  type CreatedContainer,
  type CreatedNetwork,
  type CreatedResource,
  type CreatedResources,
  type CreatedVolume,
  resourceFactsOf,
  serviceOf,
} from '../engine/createdContainer.rules.ts';
import type { GrantedPrivileges } from '../release/grantedPrivileges.rules.ts';
import { type Allowance, containerFactsOf } from '../release/privileges.rules.ts';

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
