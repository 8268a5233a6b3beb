import { endings } from '../../../machines/endings.ts';
import type { Outcome, Start } from '../../../machines/words.ts';
import { openTraces } from '../adapters/files/traces.ts';
import { codesOf, type Trace } from '../rules/trace/trace.ts';
import type { Tools } from '../services/tools.ts';
import type { Watcher } from './watch.ts';

/** A watcher that leaves a trace of every tick; a disk that fails leaves none, and changes nothing else. */
export function keepTraces(tools: Tools, intent: Start['intent']): Watcher & { kept: () => Promise<void> } {
  const { journal, recorder, settings } = tools;
  const traces = openTraces(settings.state_dir);
  let keeping = Promise.resolve();
  return {
    begun: () => recorder.begin(),
    moved: (move) => recorder.enter(move),
    left: (machine) => recorder.leave(machine),
    ended: (outcome) => {
      const trace = traceOf(tools, { intent, outcome });
      keeping = keeping
        .then(() => traces.keep(trace))
        .catch((error: unknown) => journal.debug(`no trace of this tick: ${messageOf(error)}`));
    },
    kept: () => keeping,
  };
}

function traceOf(
  { recorder, settings, tick, version }: Tools,
  { intent, outcome }: { intent: Start['intent']; outcome: Outcome | null },
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
    steps,
    decisions,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown reason';
}
