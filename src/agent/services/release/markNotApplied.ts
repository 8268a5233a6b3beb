import { nothingApplied } from '../../rules/state/state.ts';
import type { Dependencies } from '../dependencies.ts';

/** Clears applied_sha of a release that is incomplete, so that the next check-in is answered with an apply. */
export async function markNotApplied({ state, tick }: Dependencies, sha: string, why: string): Promise<void> {
  tick.journal.error(`RELEASE_INCOMPLETE: release ${sha} ${why}; it will be applied anew`);
  await state.update(nothingApplied);
}
