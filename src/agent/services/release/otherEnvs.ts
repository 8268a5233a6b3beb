import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import { Releases } from '../../adapters/release/releases.ts';
import type { OtherEnv } from '../../config/settings.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The images that a release of another env of this host names: references, and ids where it ran them. Throws a fault where the
 * releases of one cannot be seen.
 */
export async function imagesOfOtherEnvs({ otherEnvs }: Pick<Dependencies, 'otherEnvs'>): Promise<string[]> {
  return (await Promise.all(otherEnvs().map(imagesOf))).flat();
}

async function imagesOf({ config_file, env, state_dir }: OtherEnv): Promise<string[]> {
  if (env === undefined || state_dir === undefined)
    throw new Fault('failed', `images that its env may need: ${config_file} cannot be used`);
  const releases = new Releases(state_dir, join(state_dir, env));
  return imagesOfReleases(releases, await releases.listIfExists());
}

/** The images that releases on disk name: references, and ids where they ran them. */
export async function imagesOfReleases(
  releases: Pick<Releases, 'readRecord'>,
  shas: readonly Sha[],
): Promise<string[]> {
  const records = shas.map((sha) => releases.readRecord(sha));
  return (await Promise.all(records)).flatMap((record) => [
    ...(record?.images ?? []).flatMap(({ reference, id }) => (id === null ? reference : [reference, id])),
    ...(record?.verified_images ?? []).map(({ image }) => image),
  ]);
}
