import { bringBack, pointBack } from '../apply/fallBack.ts';
import type { Tools } from '../tools.ts';

/**
 * Undoes an attempt that was cut short when no new one could begin: without this a refusal or an outage would leave the
 * host half made for as long as it lasts (spec §12.5). Where no container was touched, or nothing was applied before, only `current` goes back.
 */
export async function mend(tools: Tools, _input: void, signal: AbortSignal): Promise<void> {
  const { note, state, tick } = tools;
  const { applied_sha, attempt } = state.state;
  if (attempt === null || attempt.phase === 'left') return;
  if (applied_sha === null || attempt.phase === 'promoted') {
    note({ word: 'put-back', sha: await pointBack(tools) });
    await state.update({ attempt: null });
  } else {
    await bringBack(tools, { sha: applied_sha, pull: 'never' }, signal);
    note({ word: 'mended', sha: applied_sha });
    tick.journal.info(`mended: the half-made attempt of ${attempt.sha} was undone, ${applied_sha} is in force`);
  }
}
