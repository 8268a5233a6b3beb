import { finishedOneShots, type OneShot } from '../../rules/release/oneShots.ts';
import { roleOf } from '../../rules/health/unhealthyServices.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { currentContainers } from './observe.ts';

/** Finished one-shots of a release, which are not started again, and the other services; `rest` is null for all services. */
export async function servicesToStart(
  deps: Dependencies,
  sha: string,
): Promise<{ without: string[]; rest: string[] | null }> {
  const { jobs = [], ended = [], services } = (await deps.releases.readRecord(sha)) ?? { services: [] };
  const without: string[] = [...ended];
  for (const oneShot of jobs) if (await isStillValid(deps, sha, oneShot)) without.push(oneShot.service);
  if (without.length === 0) return { without, rest: null };
  return { without, rest: services.map(({ name }) => name).filter((name) => !without.includes(name)) };
}

/** A one-shot need not run again while its volumes exist and, in an apply, its image is unchanged. */
async function isStillValid({ containers, tick }: Dependencies, sha: string, oneShot: OneShot): Promise<boolean> {
  if (oneShot.volumes.length > 0) {
    const existing = new Set((await containers.volumes()).map(({ name }) => name));
    if (!oneShot.volumes.every((name) => existing.has(name))) return false;
  }
  const image =
    tick.serviceDefinitions?.sha === sha ? tick.serviceDefinitions.services.get(oneShot.service)?.image : undefined;
  return image === undefined || (await containers.imageId(image)) === oneShot.image;
}

/** The finished one-shots of a release. */
export async function readFinishedOneShots(
  deps: Dependencies,
  { sha, services, jobs = [] }: ReleaseRecord,
): Promise<OneShot[]> {
  const { tick } = deps;
  if (tick.serviceDefinitions?.sha !== sha) return jobs;
  return finishedOneShots(await currentContainers(deps), {
    fingerprints: tick.serviceDefinitions.services,
    skipped: jobs,
    startsBefore: tick.lastComposeUp.starts,
    roleOf: (service) => roleOf(services, { service }),
  });
}
