import type { Bundle } from '../../../machines/words.ts';
import type { RegistryLogin } from '../../adapters/registryLogins.ts';
import { blameEngine, composeReleaseOf } from '../release.ts';
import type { Tools } from '../tools.ts';

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
  await tools.compose.pull(release, logins, signal).catch((error: unknown) => blameEngine(tools, error));
}

/** How many of the images are on this host; asked of the engine when somebody wants to know. */
async function imagesHere({ containers, releases }: Tools, sha: string): Promise<NonNullable<Tools['tick']['howFar']>> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  return async () => {
    const ids = await Promise.all(images.map(({ reference }) => containers.imageId(reference)));
    return { done: ids.filter((id) => id !== null).length, total: images.length, unit: 'images' };
  };
}
