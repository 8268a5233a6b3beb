import { expendable } from '../rules/retention.ts';
import type { ReleaseRecord } from '../rules/record.ts';
import type { Tools } from './tools.ts';

/**
 * Removes releases beyond `keep` and the images that only they named. Never what a container still mounts or uses.
 * What cannot be removed now is told and left for the next time.
 */
export async function tidy(tools: Tools, keep: number): Promise<void> {
  const { containers, releases, state, tick } = tools;
  try {
    const seen = await containers.listAll();
    const held = await Promise.all(
      (await releases.list()).map(async (sha) => ({ sha, images: referencesOf(await releases.readRecord(sha)) })),
    );
    const mounted = held.filter(({ sha }) =>
      seen.some(({ mounts }) => mounts.some((m) => m.startsWith(releases.pathOf(sha)))),
    );
    const { shas, images } = expendable({
      releases: held,
      current: state.state.applied_sha,
      keep,
      mounted: new Set(mounted.map(({ sha }) => sha)),
      used: new Set(seen.map(({ image }) => image)),
    });
    for (const image of images) await containers.removeImage(image);
    for (const sha of shas) await releases.remove(sha);
  } catch (error) {
    tick.journal.warn(`old releases stay for now: ${error instanceof Error ? error.message : 'unknown reason'}`);
  }
}

function referencesOf(record: ReleaseRecord | null): string[] {
  return record?.images.map(({ reference }) => reference) ?? [];
}
