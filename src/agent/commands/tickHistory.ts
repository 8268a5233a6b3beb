import type { Outcome } from '../../../machines/types.ts';
import { addToHistory, readHistory } from '../adapters/state/historyFile.ts';
import { isUneventful, matters, tickEntryOf } from '../rules/history/tickEntry.ts';
import type { Trace } from '../rules/trace/trace.ts';
import type { Dependencies } from '../services/dependencies.ts';

/**
 * What adds an ended tick to the history if it matters; it is told whether the trace of the tick before is of a quiet one. Then a
 * tick that is quiet too costs nothing. Throws a fault of the disk.
 */
export function historyOf(
  { settings, state, tick }: Dependencies,
  { trace, outcome }: { trace: Trace; outcome: Outcome | null },
): (wasQuiet: boolean) => Promise<void> {
  const entry = tickEntryOf(trace, { outcome, version: state.state.applied_version, signers: tick.signers });
  return async (wasQuiet) => {
    if (isUneventful(trace, wasQuiet)) return;
    if (matters(entry, await readHistory(settings.state_dir))) await addToHistory(settings.state_dir, entry);
  };
}
