import { Fault } from '../../../../machines/fault.ts';
import type { Bundle, Orders, Outcome } from '../../../../machines/words.ts';
import type { Pull } from '../../adapters/compose/compose.ts';
import { otherImages, type RanImage } from '../../rules/release/record.ts';
import { failedAgain } from '../../rules/schedule/retryBackoff.ts';
import { awaitWell } from '../health/awaitWell.ts';
import { isEnvAsWritten } from '../release/envSeal.ts';
import { rememberFinished } from '../release/jobs.ts';
import { bringUp, containersNow, guardEnv } from '../release/release.ts';
import { remembered } from '../checkIn/remember.ts';
import type { Tools } from '../tools.ts';

/** A bundle that failed after its promotion, and how. */
interface Failed {
  bundle: Bundle;
  orders: Orders;
  outcome: Outcome;
}

/** What the outcome says of the way back. */
interface WayBack {
  /** That what runs is again what ran before, by the ids of its images. */
  reverted: boolean;
  lines: string[];
}

/** After a pull that failed: where no container was touched yet, only `current` goes back (spec §12). */
export async function putBack(tools: Tools, failed: Failed, signal: AbortSignal): Promise<WayBack> {
  const { note, state } = tools;
  const touched = !['promoted', undefined].includes(state.state.attempt?.phase);
  if (touched) return revert(tools, failed, signal);
  const trouble = await troubleWith(async () => note({ word: 'put-back', sha: await pointBack(tools) }));
  const ended = trouble === null ? { attempt: null } : {};
  const unnoted = await troubleWith(() => state.update({ ...failureOf(tools, failed), ...ended }));
  const told = [trouble, unnoted].filter((why) => why !== null).map((why) => `not put back yet: ${why}`);
  return { reverted: false, lines: [...failed.outcome.lines, ...told] };
}

/**
 * After a failed up or health wait: the previous release comes back from local images and its own `.env`. The failure
 * is recorded first, or at last where the disk does not take it yet; until the previous release is well again the attempt
 * stands, and the next tick goes on. A SIGTERM in here ends the way back, not the outcome: that is decided, and its
 * report must not be lost.
 */
export async function revert(tools: Tools, failed: Failed, signal: AbortSignal): Promise<WayBack> {
  const { note, settings, state, tick } = tools;
  const attempt = { sha: failed.bundle.sha, phase: 'reverting' as const, at: new Date().toISOString() };
  const unnoted = await troubleWith(() => state.update({ ...failureOf(tools, failed), attempt }));
  await rememberFinished(tools, failed.bundle.sha);
  const previous = state.state.applied_sha;
  const isLeft = previous === null || settings.on_failure === 'leave';
  const trouble = await troubleWith(() =>
    isLeft ? leave(tools, attempt) : bringBack(tools, { sha: previous, pull: 'never' }, signal),
  );
  if (unnoted !== null) await troubleWith(() => state.update(failureOf(tools, failed)));
  const lines = [
    ...failed.outcome.lines,
    ...(unnoted === null ? [] : [`on the way back: ${unnoted}`]),
    ...(trouble === null ? [] : [`revert not finished: ${trouble}`]),
  ];
  const reverted = !isLeft && trouble === null;
  if (isLeft) note({ word: 'left' });
  else note({ word: reverted ? 'reverted' : 'revert-failed', sha: previous });
  if (reverted) tick.journal.info(`reverted: the previous release ${previous} is in force and healthy`);
  return { reverted, lines };
}

/** What was made stays for diagnosis; only `current` goes back. */
async function leave(tools: Tools, attempt: { sha: string; at: string }): Promise<void> {
  const previous = await pointBack(tools);
  await tools.state.update({ attempt: previous === null ? null : { ...attempt, phase: 'left' } });
}

/** Why a step of the way back could not be gone; null where it was. The next one is tried all the same. */
async function troubleWith(step: () => Promise<void>): Promise<string | null> {
  return step().then(
    () => null,
    (error: unknown) => (error instanceof Fault ? error.message : 'internal error'),
  );
}

/**
 * Puts a release in force that was applied before, its files as its bundle had them, with its own `.env` and the very images
 * it ran, and ends the standing attempt; what only that made goes. An image that is gone may be pulled when the caller says
 * so; another one is never started in its place where that can be known before, and never called the same. Where `current`
 * cannot be put back, that is thrown when all else is done.
 */
export async function bringBack(tools: Tools, what: { sha: string; pull: Pull }, signal: AbortSignal): Promise<void> {
  const { sha } = what;
  await restoreFiles(tools, sha);
  const notPointed = await tools.releases.current.set(sha).catch((error: unknown) => error as Error);
  if (!(await guardEnv(tools, sha))) throw incomplete(`release ${sha} has no .env of the agent's`);
  if (!(await isEnvAsWritten(tools, sha))) throw incomplete(`the .env of release ${sha} is not what the agent wrote`);
  await (await import('../release/integrity.ts')).ensureIntact(tools, sha, signal);
  await restoreTags(tools, what);
  await bringUp(tools, what, signal);
  await awaitWell(tools, sha, signal);
  await expectSameImages(tools, sha);
  if (notPointed instanceof Error) throw notPointed;
  await (await import('../release/leftovers.ts')).removeLeftovers(tools);
  await tools.state.update({ attempt: null, baseline: null });
}

/** `current` names the applied release again, or nothing when there is none. */
export async function pointBack(tools: Tools): Promise<string | null> {
  const { applied_sha } = tools.state.state;
  if (applied_sha === null) await tools.releases.current.remove();
  else {
    await restoreFiles(tools, applied_sha);
    await tools.releases.current.set(applied_sha);
  }
  return applied_sha;
}

/** A release is what it was when it was applied, though an attempt rendered it anew. */
async function restoreFiles(tools: Tools, sha: string): Promise<void> {
  await guardEnv(tools, sha); // the containers of the attempt know its values
  await tools.releases.restoreLastGood(sha);
}

/** References that stand for another image by now are made to stand for the one that the release ran. */
async function restoreTags({ containers, releases }: Tools, { sha, pull }: { sha: string; pull: Pull }): Promise<void> {
  const gone: RanImage[] = [];
  for (const { reference, id } of (await releases.readRecord(sha))?.images ?? []) {
    const current = id === null ? null : await containers.imageId(reference);
    if (id === null || current === id) continue;
    const isHere = (await containers.imageId(id)) !== null;
    if (isHere && !reference.includes('@')) await containers.tagImage(id, reference);
    if (!isHere && (current !== null || pull === 'never')) gone.push({ reference, id });
  }
  if (gone.length > 0) throw incomplete(`release ${sha} ran ${toldOf(gone)}: gone from this host`);
}

/** A tag may have been moved in the registry as well, so that a pull brought something else. */
async function expectSameImages(tools: Tools, sha: string): Promise<void> {
  const { images } = (await tools.releases.readRecord(sha)) ?? { images: [] };
  const others = otherImages(images, await containersNow(tools));
  if (others.length > 0) throw incomplete(`release ${sha} ran ${toldOf(others)}: other images run in their place`);
}

function toldOf(images: RanImage[]): string {
  return images.map(({ reference, id }) => `${reference} as ${id}`).join(', ');
}

function incomplete(what: string): Fault {
  return new Fault('failed', `failed: ${what}`, { code: 'RELEASE_INCOMPLETE' });
}

function failureOf(tools: Tools, { bundle, ...told }: Failed) {
  const { failing } = tools.state.state;
  const line = told.outcome.lines[0] ?? 'failed';
  return { failing: failedAgain(failing, { sha: bundle.sha, line }, new Date()), ...remembered(tools, told) };
}
