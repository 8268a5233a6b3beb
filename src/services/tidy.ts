import { endings, type Ending } from '../../machines/endings.ts';
import { wasApplied, type ReleaseRecord } from '../rules/record.ts';
import { expendable } from '../rules/retention.ts';
import type { Tools } from './tools.ts';

/**
 * What a tick leaves on the disk: secrets where they may serve again, and after a success no release too many. Each
 * tick cleans up for those before it that could not; untidiness is told, and no failure.
 */
export async function leaveTidy(tools: Tools, ending: Ending): Promise<void> {
  const { settings, state } = tools;
  await telling(tools, 'secrets of a failed bundle stay for now', () => scrub(tools));
  const succeeded = endings[ending].meta.exit === 0 && ending !== 'offlineLaptop';
  if (succeeded && state.state.applied_sha !== null) await tidy(tools, settings.keep_releases);
}

/**
 * Removes releases beyond `keep` and the images that only they named. Never what a container still mounts or uses.
 * What cannot be removed now is told and left for the next time.
 */
export async function tidy(tools: Tools, keep: number): Promise<void> {
  await telling(tools, 'old releases stay for now', async () => {
    const { containers, releases } = tools;
    if ((await releases.list()).length <= keep) return;
    const gone = await expendableOf(tools, keep);
    for (const image of gone.images) await containers.removeImage(image);
    for (const sha of gone.shas) await releases.remove(sha);
  });
}

async function expendableOf({ containers, releases, state }: Tools, keep: number) {
  const shas = await releases.listByAge();
  const seen = await containers.listAll();
  const isMounted = (sha: string) => seen.some(({ mounts }) => mounts.some((m) => m.startsWith(releases.pathOf(sha))));
  const held = shas.map(async (sha) => {
    const images = referencesOf(await releases.readRecord(sha));
    return { sha, images, servable: await releases.hasEnv(sha) };
  });
  return expendable({
    releases: await Promise.all(held),
    current: state.state.applied_sha,
    keep,
    mounted: new Set(shas.filter(isMounted)),
    used: new Set(seen.map(({ image }) => image)),
  });
}

/** A bundle that never was applied keeps its `.env` for as long as its attempt stands. */
async function scrub({ releases, state }: Tools): Promise<void> {
  const { applied_sha, attempt } = state.state;
  for (const sha of await releases.list()) {
    if (sha === applied_sha || sha === attempt?.sha || !(await releases.hasEnv(sha))) continue;
    const record = await releases.readRecord(sha);
    if (record === null || !wasApplied(record)) await releases.stripEnv(sha);
  }
}

async function telling({ tick }: Tools, what: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => {
    tick.journal.warn(`${what}: ${error instanceof Error ? error.message : 'unknown reason'}`);
  });
}

function referencesOf(record: ReleaseRecord | null): string[] {
  return record?.images.map(({ reference }) => reference) ?? [];
}
