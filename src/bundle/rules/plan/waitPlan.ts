import type { Refusal } from '../../../../machines/refusals.ts';
import { composeContentsOf } from '../compose/document/composeContents.ts';
import { activeServiceLayers } from '../compose/document/profiles.ts';
import { hasHealthcheck, type Healthcheck } from '../wait/healthcheck.ts';
import { awaitedServicesOf, longestChain, validateHealthWait } from '../wait/releaseWait.ts';
import { writtenServicesOf, type WrittenService } from '../wait/writtenServices.ts';
import type { ComparableRelease } from './changes.ts';
import { knownVariables, withKnownVariables } from './knownVariables.ts';

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

/** What a host says about waits. */
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
  const { files, profiles } = bundle;
  const known = knownVariables(bundle);
  const idle = composeContentsOf(files, profiles).services.filter(({ replicas }) => replicas === 0);
  const layers = [...activeServiceLayers(files, profiles)].filter(([name]) => !idle.some((each) => each.name === name));
  return writtenServicesOf(new Map(layers), (text) => withKnownVariables(text, known));
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
