import { endings } from '../../../machines/endings.ts';
import type { Outcome, RunOptions } from '../../../machines/types.ts';
import { openTraces } from '../adapters/state/traces.ts';
import { codesOf, saidBy, type Trace } from '../rules/trace/trace.ts';
import type { Dependencies } from '../services/dependencies.ts';
import type { ExportResult } from '../rules/metrics/tickCounts.ts';
import type { ExportTrace } from './traceExport.ts';
import type { MachineObserver } from './machineObserver.ts';
import { historyOf } from './tickHistory.ts';

/** Who is told the trace of a tick that has ended. */
export interface TraceReaders {
  /** Sends it to the collector of the configuration; null without one. Never throws. */
  exportTrace: ExportTrace | null;
  /** Tells the metrics, once it is known what became of the export; null without one. */
  publish: (trace: Trace, exported: ExportResult | null) => Promise<void>;
}

/**
 * An observer that saves a trace of every tick, adds those that matter to the history, then tells it to its readers; a failed
 * write is only logged. `flush` waits for all.
 */
export function traceTicks(
  deps: Dependencies,
  intent: RunOptions['intent'],
  { exportTrace, publish }: TraceReaders,
): MachineObserver & { flush: () => Promise<void> } {
  const { journal, recorder, settings } = deps;
  const traces = openTraces(settings.state_dir);
  let pendingWrites = Promise.resolve();
  return {
    tickStarted: () => recorder.start(),
    transitioned: (transition) => recorder.enter(transition),
    machineEnded: (machine) => recorder.leave(machine),
    tickEnded: (outcome) => {
      const trace = traceOf(deps, { intent, outcome });
      const exported = exportTrace?.(trace) ?? null;
      const addToHistory = historyOf(deps, { trace, outcome });
      const logFault = (what: string) => (error: unknown) => {
        journal.debug(`no ${what} of this tick: ${messageOf(error)}`);
      };
      pendingWrites = pendingWrites
        .then(() => traces.save(trace))
        .catch(logFault('trace'))
        .then((previous) => addToHistory(previous?.quiet ?? false))
        .catch(logFault('history'))
        .then(async () => publish(trace, await exported));
    },
    flush: () => pendingWrites,
  };
}

function traceOf(
  { recorder, settings, tick, version }: Dependencies,
  { intent, outcome }: { intent: RunOptions['intent']; outcome: Outcome | null },
): Trace {
  const { startedAt, ms, steps, decisions } = recorder.recording();
  const ending = outcome?.ending ?? 'failed';
  return {
    schema: 1,
    tick: tick.id,
    version,
    env: settings.env,
    intent,
    started_at: startedAt.toISOString(),
    ms,
    ending,
    exit: endings[ending].meta.exit,
    codes: outcome === null ? ['INTERNAL'] : codesOf(outcome),
    ...(outcome !== null && endings[ending].meta.exit !== 0 && { said: saidBy(outcome) }),
    steps,
    decisions,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason';
}
