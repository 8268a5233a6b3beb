import { Fault } from '../../../machines/fault.ts';
import type { Bundle, Orders, Outcome } from '../../../machines/words.ts';
import type { Pull } from '../../adapters/compose.ts';
import { failedAgain } from '../../rules/pause.ts';
import { awaitWell, bringUp, guardEnv } from '../release.ts';
import { remembered } from '../remember.ts';
import type { Tools } from '../tools.ts';

/** A bundle that failed after its promotion, and how. */
interface Failed {
  bundle: Bundle;
  orders: Orders;
  outcome: Outcome;
}

/** After a pull that failed: where no container was touched yet, only `current` goes back (spec §12). */
export async function putBack(tools: Tools, failed: Failed, signal: AbortSignal): Promise<{ reverted: boolean }> {
  const { note, state } = tools;
  const touched = !['promoted', undefined].includes(state.state.attempt?.phase);
  if (touched) return revert(tools, failed, signal);
  note({ word: 'put-back', sha: await pointBack(tools) });
  await state.update({ ...failureOf(tools, failed), attempt: null });
  return { reverted: false };
}

/**
 * After a failed up or health wait: the previous release comes back from local images and its own `.env`. The failure
 * is recorded first; until the previous release is well again the attempt stands, and the next tick goes on. A SIGTERM
 * in here ends the way back, not the outcome: that is decided, and its report must not be lost.
 */
export async function revert(tools: Tools, failed: Failed, signal: AbortSignal): Promise<{ reverted: boolean }> {
  const { note, settings, state, tick } = tools;
  const attempt = { sha: failed.bundle.sha, phase: 'reverting' as const, at: new Date().toISOString() };
  await state.update({ ...failureOf(tools, failed), attempt });
  const previous = await pointBack(tools);
  if (previous === null || settings.on_failure === 'leave') {
    await state.update({ attempt: previous === null ? null : { ...attempt, phase: 'left' } });
    note({ word: 'left' });
    return { reverted: false };
  }
  try {
    await bringBack(tools, { sha: previous, pull: 'never' }, signal);
    tick.journal.info(`reverted: the previous release ${previous} is in force and healthy`);
    note({ word: 'reverted', sha: previous });
    return { reverted: true };
  } catch (error) {
    tick.journal.error(`revert not finished: ${error instanceof Fault ? error.message : 'internal error'}`);
    note({ word: 'revert-failed', sha: previous });
    return { reverted: false };
  }
}

/**
 * Puts a release in force that was applied before, with its own `.env` and the very images it ran, and ends the standing
 * attempt. What is no more here may be pulled when the caller says so.
 */
export async function bringBack(tools: Tools, what: { sha: string; pull: Pull }, signal: AbortSignal): Promise<void> {
  const { sha } = what;
  if (!(await guardEnv(tools, sha)))
    throw new Fault('failed', `failed: release ${sha} has no .env`, { code: 'RELEASE_INCOMPLETE' });
  await tools.releases.setCurrent(sha);
  await restoreTags(tools, sha);
  await bringUp(tools, what, signal);
  await awaitWell(tools, sha, signal);
  await tools.state.update({ attempt: null });
}

/** References that stand for another image by now are made to stand for the old one, where that is still here. */
async function restoreTags({ containers, releases }: Tools, sha: string): Promise<void> {
  const { images } = (await releases.readRecord(sha)) ?? { images: [] };
  for (const { reference, id } of images.filter((image) => !image.reference.includes('@')))
    if (id !== null && (await containers.imageId(reference)) !== id) await containers.tagImage(id, reference);
}

/** `current` names the applied release again, or nothing when there is none. */
export async function pointBack({ releases, state }: Tools): Promise<string | null> {
  const { applied_sha } = state.state;
  if (applied_sha === null) await releases.removeCurrent();
  else await releases.setCurrent(applied_sha);
  return applied_sha;
}

function failureOf(tools: Tools, { bundle, ...told }: Failed) {
  const { failing } = tools.state.state;
  const line = told.outcome.lines[0] ?? 'failed';
  return { failing: failedAgain(failing, { sha: bundle.sha, line }, new Date()), ...remembered(tools, told) };
}
