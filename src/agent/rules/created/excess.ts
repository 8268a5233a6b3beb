import {
  factsOf,
  outerFactsOf,
  serviceOf,
  type Creation,
  type Made,
  type MadeNetwork,
  type MadeVolume,
} from './created.ts';
import type { Allowance, Granted } from './granted.ts';

/** What the engine made otherwise than the model says. */
export interface Difference {
  /** `service web`, `network deployd-eu-1_default`, `volume …`. */
  whose: string;
  /** `has mount /x bind /etc`, `lacks no-new-privileges`. */
  fact: string;
  /** The containers that would have to be made anew. */
  containers: Creation[];
  network: MadeNetwork | null;
}

/** How created things are compared with what was granted. */
export interface Comparison {
  /** The release's directory. */
  dir: string;
  /** How `Granted` writes a fact that holds a secret. */
  hide: (fact: string) => string;
}

/** One fact of the left makes facts that begin so no power. */
const wildcards: readonly [fact: string, covered: RegExp][] = [
  ['privileged', /^(capability|device|security) /],
  ['capability ALL', /^capability /],
  ['mount *', /^(mount|write|propagation) /],
  ['link *', /^link /],
  ['pid container', /^pid service /],
  ['ipc container', /^ipc service /],
  ['network container', /^network service /],
];

/** Facts of containers, networks and volumes that are no power, or that the model need not state. */
const harmless =
  /^(sysctl net\.|runtime |no-new-privileges$|without |cgroup private$|option (size|com\.docker\.network\.(enable_ipv[46]|driver\.mtu|bridge\.(enable_icc|enable_ip_masquerade|host_binding_ipv4)))=)/;

/**
 * Where what was created is not what was judged: compose gives a container the mounts of the one before it, and takes networks
 * and volumes as it finds them. Anonymous volumes are nobody's power. Containers of services that are not the model's are left out.
 */
export function differencesOf(granted: Granted, made: Made, how: Comparison): Difference[] {
  const services = made.containers.flatMap((container) => {
    const allowed = granted.services[serviceOf(container)];
    const facts = allowed
      ? deviationsOf(allowed, factsOf(container, made, how.dir), { ...how, strict: !made.isPodman })
      : [];
    const whose = `service ${serviceOf(container)}`;
    return facts.map((fact): Difference => ({ whose, fact, containers: [container], network: null }));
  });
  const networks = made.networks.flatMap((network) => {
    const containers = made.containers.filter((each) =>
      Object.hasOwn(each.NetworkSettings.Networks ?? {}, network.name),
    );
    const facts = outerDeviations(granted.networks, network, how);
    return facts.map((fact): Difference => ({ whose: `network ${network.name}`, fact, containers, network }));
  });
  const volumes = made.volumes.flatMap((volume) => {
    const facts = outerDeviations(granted.volumes, volume, how);
    return facts.map((fact): Difference => ({ whose: `volume ${volume.name}`, fact, containers: [], network: null }));
  });
  return [...services, ...networks, ...volumes];
}

/** `service web: has mount /x bind /etc; …`, each different one once. */
export function describeDifferences(differences: readonly Difference[]): string {
  return [...new Set(differences.map(({ whose, fact }) => `${whose}: ${fact}`))].join('; ');
}

function outerDeviations(granted: Granted['networks'], part: MadeNetwork | MadeVolume, how: Comparison): string[] {
  const allowed = granted[part.name] ?? granted[how.hide(part.name)];
  return allowed ? deviationsOf(allowed, outerFactsOf(part), { ...how, strict: true }) : [];
}

/** What was created and may not be, and what must be and is not; the latter not where an engine tells too little (`strict`). */
function deviationsOf(
  { may, must }: Allowance,
  facts: readonly string[],
  { hide, strict }: Comparison & { strict: boolean },
): string[] {
  const has = new Set([...facts, ...facts.map(hide)]);
  const mayHave = new Set(may);
  const isCovered = (fact: string) => wildcards.some(([all, covered]) => mayHave.has(all) && covered.test(fact));
  const isGranted = (fact: string) =>
    harmless.test(fact) || mayHave.has(fact) || mayHave.has(hide(fact)) || isCovered(fact);
  const beyond = facts.filter((fact) => !isGranted(fact)).map((fact) => `has ${fact}`);
  return strict ? [...beyond, ...must.filter((fact) => !has.has(fact)).map((fact) => `lacks ${fact}`)] : beyond;
}
