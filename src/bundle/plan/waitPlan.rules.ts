import { type Refusal, refusalWith } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import { visitGraph } from '../compose/services.rules.ts';
import type { ComparableRelease } from './changes.rules.ts';
import { knownVariables, withKnownVariables } from './variables.rules.ts';
import {
  formatSeconds,
  hasHealthcheck,
  type Healthcheck,
  type HealthDemand,
  healthDemandOf,
  leastDemandOf,
  mergeHealthcheck,
  noDemand,
  type Prerequisite,
  type WrittenService,
  writtenServicesOf,
} from './writtenServices.rules.ts';

/** How long an apply waits for the containers of a bundle, and why. */
export interface WaitPlan {
  /** The longest wait for health, without the jobs; null without a host, whose `health_timeout_s` it is at least. */
  seconds: number | null;
  /** The services that may take longest, one after the other. */
  chain: { service: string; seconds: number; why: string }[];
  /** The services that are awaited until they have ended, and how long each may take. */
  jobs: string[];
  job_timeout_s: number | null;
  /** Images that are not on the host yet, so that nobody knows their healthchecks. */
  unknown_images: string[];
}

/** The limits of a host for waits. */
export interface WaitLimits {
  health_timeout_s: number;
  health_timeout_max_s: number;
  job_timeout_s: number;
}

interface WaitFacts {
  /** Null without a host. */
  limits: WaitLimits | null;
  /** The healthchecks of the images on the host, by reference; null when they are not known. */
  images: ReadonlyMap<string, Healthcheck> | null;
}

/** The largest `health_timeout_max_s` that a host may have. */
const largestMaxS = 86_400;

/** The services of a bundle that have containers, with the values of known variables. */
export function servicesToAwait(bundle: ComparableRelease): WrittenService[] {
  const known = knownVariables(bundle);
  return writtenServicesOf(bundle.project.started, (text) => withKnownVariables(text, known));
}

/** The wait for a bundle, and the refusal of one that takes longer than the host waits. */
export function waitPlanOf(
  bundle: ComparableRelease,
  { limits, images }: WaitFacts,
): { wait: WaitPlan; refusal: Refusal | null } {
  const written = servicesToAwait(bundle);
  const services = awaitedServicesOf(written, images ?? new Map());
  const chain = longestChain(services);
  const undecided = written.filter(({ healthcheck, kind }) => kind !== 'job' && !hasHealthcheck(healthcheck));
  const unknown = undecided.flatMap(({ image, healthcheck }) =>
    image === null || healthcheck.isOff || images === null || images.has(image) ? [] : image,
  );
  return {
    wait: {
      seconds: limits && Math.min(limits.health_timeout_max_s, Math.max(limits.health_timeout_s, chain.seconds)),
      chain: chain.links.map(({ name, demand }) => ({ service: name, ...demand })),
      jobs: services.filter(({ isJob }) => isJob).map(({ name }) => name),
      job_timeout_s: limits?.job_timeout_s ?? null,
      unknown_images: [...new Set(unknown)].sort(),
    },
    refusal: validateHealthWait(written, images ?? new Map(), limits?.health_timeout_max_s ?? largestMaxS),
  };
}

/** A service as a wait for a release sees it. */
export interface AwaitedService {
  name: string;
  isJob: boolean;
  demand: HealthDemand;
  after: readonly Prerequisite[];
}

/** The services of a release, with the healthchecks of the images that are known, and what these demand. */
export function awaitedServicesOf(
  services: readonly WrittenService[],
  images: ReadonlyMap<string, Healthcheck>,
  demandOf: (healthcheck: Healthcheck) => HealthDemand = healthDemandOf,
): AwaitedService[] {
  return services.map(({ name, image, kind, jobReason, healthcheck, after }) => {
    const merged = mergeHealthcheck(healthcheck, images.get(image ?? '') ?? null);
    const isJob = kind === 'job' && !(jobReason === 'restart' && hasHealthcheck(merged));
    return { name, isJob, demand: isJob ? noDemand : demandOf(merged), after };
  });
}

/** Services of which each starts after the previous one, and the time that they take one after the other. */
interface WaitChain {
  seconds: number;
  links: readonly AwaitedService[];
}

/**
 * The longest chain of services by the time until the last one is healthy: a service begins when those that it waits for
 * have started, are healthy or have ended. A job takes `jobS`.
 */
export function longestChain(services: readonly AwaitedService[], jobS = 0): WaitChain {
  const chainsOf = chainsOfEach(services, jobS);
  const { seconds, last } = longestOf(services.map((service) => chainsOf(service).until));
  const links: AwaitedService[] = [];
  for (let link = last; link !== null; link = link.previous) links.push(link.service);
  return { seconds, links: links.reverse() };
}

/** The longest time until a service can begin, which `compose up` waits for. */
export function secondsUntilLastStart(services: readonly AwaitedService[], jobS: number): number {
  const chainsOf = chainsOfEach(services, jobS);
  return longestOf(services.map((service) => chainsOf(service).before)).seconds;
}

/** A chain by its last service that takes time. */
interface Chain {
  seconds: number;
  last: { service: AwaitedService; previous: Chain['last'] } | null;
}

const noChain: Chain = { seconds: 0, last: null };

/** The longest chains of a service: before it begins, and until it is healthy. */
interface Chains {
  before: Chain;
  until: Chain;
}

/** The chains of each service. A circle, which is refused elsewhere, adds nothing. */
function chainsOfEach(services: readonly AwaitedService[], jobS: number): (service: AwaitedService) => Chains {
  const byName = new Map(services.map((service) => [service.name, service]));
  const graph = new Map(services.map(({ name, after }) => [name, after.map((each) => each.name)]));
  const known = new Map<string, Chains>();
  for (const name of visitGraph(graph).order) {
    const service = byName.get(name);
    if (service === undefined) continue;
    const chains = service.after.map((each) => {
      const other = known.get(each.name);
      return (each.condition === 'started' ? other?.before : other?.until) ?? noChain;
    });
    const before = longestOf(chains);
    const ownS = service.isJob ? jobS : service.demand.seconds;
    const last = { service, previous: before.last };
    known.set(name, { before, until: ownS === 0 ? before : { seconds: before.seconds + ownS, last } });
  }
  return ({ name }) => known.get(name) ?? { before: noChain, until: noChain };
}

function longestOf(chains: readonly Chain[]): Chain {
  return chains.reduce((longest, each) => (each.seconds > longest.seconds ? each : longest), noChain);
}

/** Links of a chain that a text shows. */
const maxLinks = 50;

/** `db 240s (start_period 60s + 6 × interval 30s), then web 90s (3 × interval 30s)`. */
export function describeChain({ links }: WaitChain): string {
  const shown = links
    .slice(0, maxLinks)
    .map(({ name, demand }) => `${printable(name)} ${formatSeconds(demand.seconds)} (${demand.why})`);
  const others = links.length - shown.length;
  return [...shown, ...(others > 0 ? [`${others} more`] : [])].join(', then ');
}

/** COMPOSE_REFUSED for services that demand more time to become healthy than a host waits at most; or null. */
export function validateHealthWait(
  services: readonly WrittenService[],
  images: ReadonlyMap<string, Healthcheck>,
  maxS: number,
): Refusal | null {
  const chain = longestChain(awaitedServicesOf(services, images, leastDemandOf));
  if (chain.seconds <= maxS) return null;
  const [only] = chain.links;
  const subject =
    chain.links.length === 1 && only ? `service ${printable(only.name)}` : 'services that wait for each other';
  return refusalWith('COMPOSE_REFUSED', [
    {
      text: `${subject} may take ${formatSeconds(chain.seconds)} to become healthy, more than ${formatSeconds(maxS)} (health_timeout_max_s): ${describeChain(chain)}`,
      cure: 'shorten start_period, interval or retries, switch a healthcheck off with `disable: true`, or raise health_timeout_max_s on the host',
    },
  ]);
}
