import { takeLock as lockStateDir } from '../../adapters/files/lock.ts';
import { beginTick, type Tools } from '../tools.ts';

/** Begins a tick: a new id, and the lock of the state directory (spec §13). Throws Fault `busy`. */
export async function takeLock(tools: Tools): Promise<void> {
  tools.tick = beginTick(tools.journal);
  tools.tick.lock = await lockStateDir(tools.settings.state_dir);
}
