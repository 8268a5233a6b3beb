import { registryOf } from '../../../platform/text/imageReference.ts';
import { readManifest } from '../../../bundle/readBundle.ts';
import { catchFault } from '../catchFault.ts';
import type { Dependencies } from '../dependencies.ts';
import { markNotApplied } from './markNotApplied.ts';

/**
 * Marks a release as not applied when an image from a registry with login is missing, so that the next check-in is answered with
 * an apply: only an apply reads registry logins from the secretstore.
 */
export async function markNotAppliedIfImagesMissing(deps: Dependencies, sha: string): Promise<void> {
  const { orchestrator, releases } = deps;
  const hosts = await registryHostsOf(deps, sha);
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  const references = images.map(({ reference }) => reference).filter((reference) => hosts.has(registryOf(reference)));
  const missing = await orchestrator.missingImages(references);
  if (missing.length === 0) return;
  const registries = [...new Set(missing.map(registryOf))];
  await markNotApplied(deps, sha, `lacks ${missing.join(', ')}, and only an apply logs in to ${registries.join(', ')}`);
}

/** Registries with a login in the manifest of the release; none when the manifest cannot be read. */
async function registryHostsOf({ releases, settings }: Dependencies, sha: string): Promise<Set<string>> {
  const parsed = await catchFault(() => readManifest(releases.pathOf(sha), settings.env));
  return new Set('manifest' in parsed ? parsed.manifest.registries.map(({ host }) => registryOf(`${host}/`)) : []);
}
