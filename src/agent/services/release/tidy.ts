import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { endings, type Ending } from '../../../../machines/endings.ts';
import type { Orders } from '../../../../machines/words.ts';
import { diskFault, isEACCES, isENOENT } from '../../adapters/files/files.ts';
import { wasApplied, type ReleaseRecord } from '../../rules/release/record.ts';
import type { Holder } from '../../rules/health/container.ts';
import { expendable, liesIn, shows } from '../../rules/release/retention.ts';
import type { Tools } from '../tools.ts';

/**
 * What a tick leaves on the disk: secrets where they may serve again, and after a success no release too many. Each
 * tick cleans up for those before it that could not; untidiness is told, and no failure.
 */
export async function leaveTidy(tools: Tools, ending: Ending, orders: Orders | null): Promise<void> {
  const { settings, state, stop } = tools;
  await telling(tools, 'secrets of a failed bundle stay for now', () => scrub(tools));
  if ((state.state.purge_pending ?? null) !== null && !stop.signal.aborted)
    await telling(tools, 'what a down left stays for now', async () =>
      (await import('./purge.ts')).purgeAgain(tools, orders),
    );
  const succeeded = endings[ending].meta.exit === 0 && ending !== 'offlineLaptop';
  if (succeeded && state.state.applied_sha !== null) await tidy(tools, settings.keep_releases);
}

/**
 * Removes releases beyond `keep` and the images that only they named; never what any container of the engine mounts or
 * uses, whoever made it. What cannot be removed now, or is not known to be free, is told and left for the next time.
 */
export async function tidy(tools: Tools, keep: number): Promise<void> {
  await telling(tools, 'old releases stay for now', async () => {
    const { containers, releases, tick } = tools;
    if ((await releases.list()).length <= keep) return;
    const holders = await containers.holders();
    const gone = await expendableOf(tools, { keep, holders });
    for (const image of gone.images) await containers.removeImage(image);
    for (const sha of gone.shas) await releases.remove(sha, tools.stop.signal);
    if (gone.held.length > 0)
      tick.journal.info(`old releases stay while containers mount them: ${gone.held.join(', ')}`);
  });
}

async function expendableOf(tools: Tools, { keep, holders }: { keep: number; holders: Holder[] }) {
  const { containers, releases, state } = tools;
  const shas = await releases.listByAge();
  const held = shas.map(async (sha) => {
    const images = referencesOf(await releases.readRecord(sha));
    return { sha, images, servable: await releases.hasEnv(sha) };
  });
  return expendable({
    releases: await Promise.all(held),
    current: state.state.applied_sha,
    keep,
    mounted: await mountedOf(tools, { shas, holders }),
    used: new Set(
      holders.flatMap(({ project, image, imageId }) => (project === tools.project ? image : [image, imageId])),
    ),
    usedIds: new Set(holders.map(({ imageId }) => imageId)),
    present: await containers.images(),
  });
}

/**
 * Releases of which a container mounts something, as its mounts are written and where they lead now. A volume may stand for
 * a directory of the host; `current` may have led to any release when the container was started. What mounts more than the
 * env's directory looks at the host, and needs no release (spec §12.7).
 */
async function mountedOf({ containers, releases }: Tools, { shas, holders }: { shas: string[]; holders: Holder[] }) {
  const volumes = new Set(holders.flatMap((holder) => holder.volumes));
  const devices = (await containers.volumes())
    .filter(({ name }) => volumes.has(name))
    .flatMap(({ options }) => options['device'] ?? []);
  const written = [...new Set([...holders.flatMap(({ mounts }) => mounts), ...devices])].filter(isAbsolute);
  const [all = ''] = shas.map((sha) => dirname(releases.pathOf(sha)));
  const home = dirname(all);
  const own = [home, await realPath(home), await realPath(all)];
  const sources = [...written, ...(await Promise.all(written.map(realPath)))].filter((source) =>
    own.some((directory) => liesIn(source, directory)),
  );
  const isMounted = async (path: string) => {
    const ways = [path, join(await realPath(dirname(path)), basename(path))];
    return sources.some((source) => ways.some((way) => shows(source, way)));
  };
  if (await isMounted(join(home, 'current'))) return new Set(shas);
  const mounted = await Promise.all(shas.map((sha) => isMounted(releases.pathOf(sha))));
  return new Set(shas.filter((_, place) => mounted[place]));
}

/** A path that leads nowhere, or through what is hidden from the agent, is itself: what else went wrong might hide a mount. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch((error: unknown) => {
    if (isENOENT(error) || isEACCES(error) || leadsNowhere.has((error as NodeJS.ErrnoException).code ?? ''))
      return path;
    throw diskFault('read', path, error);
  });
}

const leadsNowhere = new Set(['ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']);

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
