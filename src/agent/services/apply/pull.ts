import { Fault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/words.ts';
import type { RegistryLogin } from '../../adapters/compose/registryLogins.ts';
import type { ReleaseRecord } from '../../rules/release/record.ts';
import { blameEngine, composeReleaseOf } from '../release/release.ts';
import type { Tools } from '../tools.ts';
import { isPlain } from './plain.ts';

/** compose pull with the bundle's registry logins, which live only as long as the call (spec §5). */
export async function pull(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const release = await composeReleaseOf(tools, bundle.sha);
  const logins = bundle.manifest.registries.map(({ host, username_var, password_var }): RegistryLogin => {
    const { vault } = tools;
    return { host, username: vault.value(username_var) ?? '', password: vault.value(password_var) ?? '' };
  });
  for (const { username, password } of logins)
    tools.vault.guard(Buffer.from(`${username}:${password}`).toString('base64'));
  tools.tick.howFar = await imagesHere(tools, bundle.sha);
  try {
    await tools.compose.pull(release, logins, signal).catch((error: unknown) => blameEngine(tools, error));
  } finally {
    await noteImages(tools, bundle.sha);
  }
}

/**
 * Notes which images came that are named by variables, so that they go with the release, and also when it fails. Of a pull
 * that was cut short the next one notes them.
 */
async function noteImages(tools: Tools, sha: string): Promise<void> {
  const { containers, releases, tick } = tools;
  try {
    const record = await releases.readRecord(sha);
    if (record === null || tick.made?.sha !== sha) return;
    const known = new Set(record.images.map(({ reference }) => reference));
    const named = new Set([...tick.made.services.values()].map(({ image }) => image));
    const noted: ReleaseRecord['images'] = [];
    for (const image of named.difference(known)) {
      const id = await containers.imageId(image);
      if (id !== null) noted.push({ reference: isPlain(tools, image) ? image : id, id: null });
    }
    if (noted.length > 0) await releases.writeRecord(sha, { ...record, images: [...record.images, ...noted] });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    tick.journal.debug(`images of ${sha} are not noted: ${error.message}`);
  }
}

/** How many of the images are on this host; asked of the engine when somebody wants to know. */
async function imagesHere({ containers, releases }: Tools, sha: string): Promise<NonNullable<Tools['tick']['howFar']>> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  return async () => {
    const ids = await Promise.all(images.map(({ reference }) => containers.imageId(reference)));
    return { done: ids.filter((id) => id !== null).length, total: images.length, unit: 'images' };
  };
}
