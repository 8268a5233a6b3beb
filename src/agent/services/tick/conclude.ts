import { endings } from '../../../../machines/endings.ts';
import type { Container, Host, Orders, Outcome } from '../../../../machines/words.ts';
import { reportedOf } from '../../rules/health/health.ts';
import type { State } from '../../rules/state/state.ts';
import { lastOutcomeOf, remembered, reportOf } from '../checkIn/remember.ts';
import { leaveTidy } from '../release/tidy.ts';
import type { Tools } from '../tools.ts';

interface Concluded {
  outcome: Outcome;
  orders: Orders | null;
  host: Host | null;
}

/**
 * Records how the tick came out: `last_outcome` and, after a check-in, the report in the outbox, in one durable write,
 * so that an outcome survives outages and restarts; then leaves the disk tidy. A tick that decided nothing leaves the
 * last outcome as it is, and one that could not read the state leaves everything.
 */
export async function conclude(tools: Tools, concluded: Concluded): Promise<void> {
  if (tools.state.isUnknown) return;
  await record(tools, concluded);
  await leaveTidy(tools, concluded.outcome.ending, concluded.orders);
}

async function record(tools: Tools, { outcome, orders, host }: Concluded): Promise<void> {
  const { state, tick } = tools;
  const { exit, report } = endings[outcome.ending].meta;
  if (exit === 75 || outcome.ending === 'offlineLaptop' || outcome.ending === 'paused') return;
  if (orders === null || report === null) return state.update({ last_outcome: lastOutcomeOf(tools, outcome) });
  const told = { outcome, orders, containers: await reportedNow(tools, orders, host) };
  if (report !== 'heartbeat') return state.update(remembered(tools, told));
  tick.heartbeat = reportOf(tools, told);
  await state.update({ last_outcome: lastOutcomeOf(tools, outcome), failing: stillFailing(state.state) });
}

/** That the applied release could not be applied again is proven wrong by a tick that finds it well. */
function stillFailing({ applied_sha, failing }: Readonly<State>): State['failing'] {
  return failing?.sha === applied_sha ? null : failing;
}

/** What the tick saw when it began is true still where nothing had to be done. */
async function reportedNow(tools: Tools, { action }: Orders, host: Host | null): Promise<Container[]> {
  if (action === 'none' && host?.healthy) return host.containers;
  if (tools.tick.well !== null) return tools.tick.well.map(reportedOf);
  return tools.containers.glance().then(
    (containers) => containers.map(reportedOf),
    () => [],
  );
}
