import { Fault } from '../../../../machines/fault.ts';
import { hostOf } from '../../rules/bundle/imageName.ts';
import { parseManifest } from '../../../protocol/manifest.ts';
import { manifestText } from '../apply/unpack.ts';
import { forgetApplied } from '../tick/recall.ts';
import type { Tools } from '../tools.ts';

/**
 * Heals have no login for a registry: those come from the secretstore, which only an apply asks. Where an image is gone
 * that lies behind one, the release does not count as applied, so that the next check-in is answered with an apply.
 */
export async function forgetUnlessHere(tools: Tools, sha: string): Promise<void> {
  const { containers, releases } = tools;
  const hosts = await loginsOf(tools, sha);
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  const behind = images.map(({ reference }) => reference).filter((reference) => hosts.has(hostOf(reference)));
  const ids = await Promise.all(behind.map((reference) => containers.imageId(reference)));
  const gone = behind.filter((_, place) => ids[place] === null);
  if (gone.length === 0) return;
  const registries = [...new Set(gone.map(hostOf))];
  await forgetApplied(tools, sha, `lacks ${gone.join(', ')}, and only an apply logs in to ${registries.join(', ')}`);
}

/** Registries for which the release's manifest has a login; none where it cannot be read any more. */
async function loginsOf({ releases, settings }: Tools, sha: string): Promise<Set<string>> {
  const text = await manifestText(releases.pathOf(sha)).catch((error: unknown) => {
    if (error instanceof Fault) return '';
    throw error;
  });
  const parsed = parseManifest(text, settings.env);
  return new Set('manifest' in parsed ? parsed.manifest.registries.map(({ host }) => hostOf(`${host}/`)) : []);
}
