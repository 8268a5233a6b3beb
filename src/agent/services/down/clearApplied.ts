import { nothingApplied } from '../../rules/state/state.ts';
import type { Dependencies } from '../dependencies.ts';
import { resetOneShots } from '../release/oneShots.ts';

/** Clears applied_sha, removes `current` and every `.env`; releases/ stays, and every one-shot will run again. */
export async function clearApplied(deps: Dependencies): Promise<void> {
  const { releases, state, tick } = deps;
  for (const sha of await releases.list()) {
    await releases.stripEnv(sha);
    await resetOneShots(deps, sha);
  }
  await releases.current.remove();
  await state.update({ ...nothingApplied, attempt: null, unreverted: null, failing: null });
  tick.journal.info('down: the project is torn down; releases/ stays, without secrets');
}
