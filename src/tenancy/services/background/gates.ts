import { claimGate, findDueGates } from '../../store/rolloutGates.ts';
import type { RolloutRow } from '../../store/rolloutTable.ts';
import type { Dependencies } from '../dependencies.ts';
import { askGate } from '../rollouts/askGate.ts';

/** Gates whose webhooks are asked at once. */
const GATES_AT_ONCE = 50;
/** An instance has a gate for itself for so long, longer than an endpoint may take; if it dies meanwhile another one asks. */
const CLAIM_MS = 120_000;

/** Asks the webhooks of all gates that are due, at once, so that none waits for another; one instance asks each. */
export async function askGates(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const longestMs = Math.max(CLAIM_MS, deps.settings.webhooks.longest_retry_s * 1000);
  const due = await findDueGates(deps.store, { now: deps.clock(), longestMs }, GATES_AT_ONCE);
  await Promise.all(due.map((row) => ask(deps, row, signal)));
}

async function ask(deps: Dependencies, row: RolloutRow, signal: AbortSignal): Promise<void> {
  const claimed = await claimGate(deps.store, row, deps.clock() + CLAIM_MS);
  if (claimed === null) return;
  try {
    await askGate(deps, claimed, signal);
  } catch (error) {
    const { id, env } = row;
    deps.log('error', `a gate could not be asked, and is asked again: ${String(error)}`, { rollout: id, env });
  }
}
