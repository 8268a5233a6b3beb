import { acquireLock as lockStateDir } from '../../adapters/state/lock.ts';
import type { Dependencies } from '../dependencies.ts';
import { startTick } from '../tickScope.ts';

/** Starts a tick with a new id and locks the state directory (spec §13). Throws Fault `busy`. */
export async function acquireLock(deps: Dependencies): Promise<void> {
  deps.tick = startTick(deps.journal);
  deps.tick.lock = await lockStateDir(deps.settings.state_dir);
}
