import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import { printable } from '../../../protocol/printable.ts';
import {
  formatSeconds,
  hasHealthcheck,
  healthDemandOf,
  leastDemandOf,
  mergeHealthcheck,
  noDemand,
  type Healthcheck,
  type HealthDemand,
} from './healthcheck.ts';
import type { Prerequisite, WrittenService } from './writtenServices.ts';

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
export interface WaitChain {
  seconds: number;
  links: readonly AwaitedService[];
}

const noChain: WaitChain = { seconds: 0, links: [] };

/**
 * The longest chain of services by the time until the last one is healthy: a service begins when those that it waits for
 * have started, are healthy or have ended. A job takes `jobS`.
 */
export function longestChain(services: readonly AwaitedService[], jobS = 0): WaitChain {
  const { until } = chainsOf(services, jobS);
  return longestOf(services.map(until));
}

/** The longest time until a service can begin, which `compose up` waits for. */
export function secondsUntilLastStart(services: readonly AwaitedService[], jobS: number): number {
  const { before } = chainsOf(services, jobS);
  return longestOf(services.map(before)).seconds;
}

function chainsOf(services: readonly AwaitedService[], jobS: number) {
  const byName = new Map(services.map((service) => [service.name, service]));
  const known = new Map<string, WaitChain>();
  const before = (service: AwaitedService): WaitChain => {
    const found = known.get(service.name);
    if (found) return found;
    known.set(service.name, noChain); // a circle, which is refused elsewhere, adds nothing
    const chains = service.after.flatMap(({ name, condition }) => {
      const other = byName.get(name);
      if (other === undefined) return [];
      return condition === 'started' ? before(other) : until(other);
    });
    const longest = longestOf(chains);
    known.set(service.name, longest);
    return longest;
  };
  const until = (service: AwaitedService): WaitChain => {
    const { seconds, links } = before(service);
    const ownS = service.isJob ? jobS : service.demand.seconds;
    return ownS === 0 ? { seconds, links } : { seconds: seconds + ownS, links: [...links, service] };
  };
  return { before, until };
}

function longestOf(chains: readonly WaitChain[]): WaitChain {
  return chains.reduce((longest, each) => (each.seconds > longest.seconds ? each : longest), noChain);
}

/** `db 240s (start_period 60s + 6 × interval 30s), then web 90s (3 × interval 30s)`. */
export function describeChain({ links }: WaitChain): string {
  return links
    .map(({ name, demand }) => `${printable(name)} ${formatSeconds(demand.seconds)} (${demand.why})`)
    .join(', then ');
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
