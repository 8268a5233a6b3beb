import { endings } from '../../../../machines/endings.ts';
import type {
  ReportedContainer,
  ObservedState,
  DesiredState,
  Outcome,
  RunOptions,
} from '../../../../machines/types.ts';
import { reportedContainerOf } from '../../rules/health/health.ts';
import { offlineAlarmLine, offlineSince } from '../../rules/schedule/offlineAlarm.ts';
import type { State } from '../../rules/state/state.ts';
import { lastOutcomeOf, outcomePatch, reportOf } from '../checkIn/outcomePatch.ts';
import { cleanUp } from '../release/collectGarbage.ts';
import type { Dependencies } from '../dependencies.ts';

interface TickResult extends Pick<RunOptions, 'intent'> {
  outcome: Outcome;
  desired: DesiredState | null;
  observed: ObservedState | null;
}

/**
 * Records the outcome of the tick: `last_outcome` and, after a check-in, the report in the queue, in one durable write, so
 * that it survives outages and restarts; then cleans up the disk. A tick that decided nothing keeps the last outcome; one
 * that could not read the state changes nothing. Tells whether the host has been offline for too long.
 */
export async function recordOutcome(deps: Dependencies, result: TickResult): Promise<{ offlineAlarm: boolean }> {
  if (deps.state.isUnknown) return { offlineAlarm: false };
  const offlineAlarm = isOffline(result) && (await recordOffline(deps, result.outcome));
  if (!offlineAlarm) await updateState(deps, result);
  await cleanUp(deps, result.outcome.ending, result.desired);
  return { offlineAlarm };
}

/** True for a tick that has not reached the tenancy service. */
function isOffline({ intent, outcome, desired }: TickResult): boolean {
  return intent === 'tick' && desired === null && ['offline', 'offlineLaptop'].includes(outcome.ending);
}

/** Records since when the host has been offline; once that is too long, that is logged and becomes the last outcome (spec §8.1). */
async function recordOffline(deps: Dependencies, outcome: Outcome): Promise<boolean> {
  const { settings, state, tick } = deps;
  const now = new Date();
  const offline_since = offlineSince(state.state, now);
  const line = offlineAlarmLine(offline_since, settings.offline_alarm_s, now);
  if (line !== null) tick.journal.error(line);
  const alarm =
    line !== null && lastOutcomeOf(deps, { ...outcome, ending: 'offlineAlarm', lines: [line, ...outcome.lines] });
  await state.update({ offline_since, ...(alarm && { last_outcome: alarm }) });
  return line !== null;
}

async function updateState(deps: Dependencies, { outcome, desired, observed }: TickResult): Promise<void> {
  const { state, tick } = deps;
  const { exit, report } = endings[outcome.ending].meta;
  if (exit === 75 || outcome.ending === 'offlineLaptop' || outcome.ending === 'paused') return;
  if (desired === null || report === null) return state.update({ last_outcome: lastOutcomeOf(deps, outcome) });
  const containers = await reportedContainers(deps, desired, observed);
  tick.containers = containers;
  const input = { outcome, desired, containers };
  if (report !== 'heartbeat') return state.update(outcomePatch(deps, input));
  tick.heartbeat = reportOf(deps, input);
  const failing = outcome.ending === 'converged' ? remainingFailure(state.state) : state.state.failing;
  await state.update({ last_outcome: lastOutcomeOf(deps, outcome), failing });
}

/** A tick that finds the applied release healthy clears the failure to apply that release again. */
function remainingFailure({ applied_sha, failing }: Readonly<State>): State['failing'] {
  return failing?.sha === applied_sha ? null : failing;
}

/** Containers for the report; those observed at the start of the tick are still current when the tick changed none. */
async function reportedContainers(
  deps: Dependencies,
  { action }: DesiredState,
  observed: ObservedState | null,
): Promise<ReportedContainer[]> {
  if (action === 'none' && observed?.healthy) return observed.containers;
  if (deps.tick.healthyContainers !== null) return deps.tick.healthyContainers.map(reportedContainerOf);
  return deps.orchestrator.observe(null).then(
    ({ containers }) => containers,
    () => [],
  );
}
