import { anonymousVolumesOf, type CreatedResources, serviceOf } from '../engine/createdContainer.rules.ts';
import { roleOf } from '../health/unhealthyServices.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import {
  finishedOneShots,
  type LinkedService,
  namespacesOf,
  type OneShot,
  referredServices,
  type ServiceFingerprints,
} from '../release/services.rules.ts';
import { createPlaceholder } from './createdContainers.ts';
import { currentContainers, type ComposeDependencies } from './observe.ts';

/** A finished one-shot, and the id of its image if that is known. */
interface KeptOneShot {
  service: string;
  image: string | null;
}

/** The selection of services to start. */
export interface StartPlan {
  /** Finished one-shots that need no container. */
  without: string[];
  /** Finished one-shots whose container exists without being started, since other services refer to it. */
  kept: KeptOneShot[];
  /** The other services; null for all services. */
  rest: string[] | null;
}

/** Finished one-shots of a release, which are not started again, and the other services. */
export async function servicesToStart(
  deps: ComposeDependencies,
  { jobs = [], ended = [], services, containers = [] }: ReleaseRecord,
  fingerprints: ServiceFingerprints | undefined,
): Promise<StartPlan> {
  const finished: KeptOneShot[] = ended.map((service) => {
    return { service, image: containers.find((each) => each.service === service)?.image ?? null };
  });
  for (const oneShot of jobs) if (await isStillValid(deps, oneShot, fingerprints)) finished.push(oneShot);
  if (finished.length === 0) return { without: [], kept: [], rest: null };
  const referred = referredServices(services);
  const names = new Set(finished.map(({ service }) => service));
  return {
    without: [...names].filter((name) => !referred.has(name)),
    kept: finished.filter(({ service }) => referred.has(service)),
    rest: services.map(({ name }) => name).filter((name) => !names.has(name)),
  };
}

/**
 * Before compose creates the container of a kept one-shot again: a placeholder takes over its anonymous volumes that
 * containers of other services still mount.
 */
export async function restoreProviders(
  deps: ComposeDependencies,
  { kept, services }: { kept: readonly KeptOneShot[]; services: ReleaseRecord['services'] },
  created: CreatedResources,
): Promise<void> {
  for (const { service, image } of kept) {
    if (created.containers.some((container) => serviceOf(container) === service)) continue;
    const users = new Set(services.filter((each) => mountsVolumesOf(each, service)).map(({ name }) => name));
    const user = created.containers.find((container) => users.has(serviceOf(container)));
    const volumes = user === undefined ? [] : anonymousVolumesOf(user, created.volumes);
    if (user === undefined || image === null || volumes.length === 0) continue;
    const name = `${user.Id.slice(0, 12)}_${deps.project}-${service}-1`;
    const own = Object.entries(user.Config.Labels ?? {}).filter(([key]) => key.startsWith(label('')));
    const labels = { ...Object.fromEntries(own), [label('service')]: service, [label('container-number')]: '1' };
    await createPlaceholder(deps.containers, { name, image, labels, volumes });
  }
}

const label = (name: string) => `com.docker.compose.${name}`;

function mountsVolumesOf({ joins = [] }: LinkedService, provider: string): boolean {
  return joins.some(({ service, part }) => part === 'volumes' && service === provider);
}

/** Containers before and after compose created the containers of a release. */
interface CreatedStep {
  before: CreatedResources;
  after: CreatedResources;
}

/**
 * The kept one-shots that have to run once more. Either the data of their anonymous volumes is lost, or a service that
 * shares their namespace has to start, which it can only while they run.
 */
export function oneShotsToRunAgain(
  { tick }: ComposeDependencies,
  { kept, services }: { kept: readonly KeptOneShot[]; services: readonly LinkedService[] },
  { before, after }: CreatedStep,
): string[] {
  const known = new Set(before.volumes.map(({ name }) => name));
  const isRunning = (name: string) =>
    after.containers.every((each) => serviceOf(each) !== name || each.State.Status === 'running');
  return kept.flatMap(({ service }) => {
    const own = after.containers.filter((each) => serviceOf(each) === service);
    const lost = own.flatMap((each) => anonymousVolumesOf(each, after.volumes)).filter(({ name }) => !known.has(name));
    const member = services.find((each) => namespacesOf(each).includes(service) && !isRunning(each.name));
    const [cause] = [
      ...(lost.length > 0
        ? [`the data of ${service} in ${lost.map(({ target }) => target).join(', ')} is lost with its container`]
        : []),
      ...(member === undefined ? [] : [`${member.name} starts only in a namespace of ${service} while that runs`]),
    ];
    if (cause === undefined) return [];
    const line = `${cause}: ${service} runs again`;
    tick.journal.warn(line);
    tick.journal.remarks.push(line);
    return [service];
  });
}

/** A one-shot need not run again while its volumes exist and, in an apply, its image is unchanged. */
async function isStillValid(
  { containers, vault }: ComposeDependencies,
  oneShot: OneShot,
  fingerprints: ServiceFingerprints | undefined,
): Promise<boolean> {
  if (oneShot.volumes.length > 0) {
    const existing = new Set((await containers.volumes()).map(({ name }) => name));
    if (!oneShot.volumes.every((name) => existing.has(name))) return false;
  }
  const image = fingerprints?.get(oneShot.service)?.image;
  return image === undefined || (await containers.imageId(vault.reveal(image))) === oneShot.image;
}

/** The finished one-shots of a release; without its fingerprints, those that were recorded. */
export async function readFinishedOneShots(
  deps: ComposeDependencies,
  { services, jobs = [] }: ReleaseRecord,
  fingerprints: ServiceFingerprints | null,
): Promise<OneShot[]> {
  if (fingerprints === null) return jobs;
  return finishedOneShots(await currentContainers(deps), {
    fingerprints,
    skipped: jobs,
    startsBefore: deps.memory.lastComposeUp.starts,
    roleOf: (service) => roleOf(services, { service }),
  });
}
