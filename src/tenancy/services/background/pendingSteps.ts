import { PeerError } from '../../adapters/peerError.ts';
import { stepBackoff } from '../../rules/stepBackoff.ts';
import type { PendingStep, PendingStepRow } from '../../store/database.ts';
import { claimStep, findDueSteps, postponeStep, removeStep } from '../../store/pendingSteps.ts';
import type { Store } from '../../store/openStore.ts';
import type { Dependencies } from '../dependencies.ts';
import { deleteIdentity, destroyEnvSecrets, destroySecrets, revokeToken } from './finishingSteps.ts';
import type { StepCall } from './stepCall.ts';

/** Steps that are tried in one round. */
const STEPS_PER_ROUND = 200;
/** How long an instance holds a step for itself; if it dies, another one takes the step over afterwards. */
const CLAIM_MS = 120_000;
/** The work at a peer ends so long before the claim, so that two instances never do the same at once. */
const MARGIN_MS = 20_000;

const steps: Record<PendingStep, (deps: Dependencies, call: StepCall) => Promise<unknown>> = {
  revokeToken,
  deleteIdentity,
  destroySecrets,
  destroyEnvSecrets,
  revokeSupersededToken: async ({ secretstore }, { subject, finish }) => {
    await secretstore.revokeToken(subject);
    return finish();
  },
  deleteUnusedIdentity: async ({ mesh }, { subject, finish }) => {
    await mesh?.deleteIdentity(subject);
    return finish();
  },
};

/**
 * Tries the steps that are due, one after the other. Each is idempotent; one that fails is tried again later, and others
 * of its kind wait for the next round, because their peer is probably away.
 */
export async function runPendingSteps(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const failed = new Set<PendingStep>();
  for (const due of await findDueSteps(deps.store, deps.clock(), STEPS_PER_ROUND)) {
    if (signal.aborted) return;
    if (failed.has(due.step)) continue;
    const claimed = await claimStep(deps.store, due, deps.clock() + CLAIM_MS);
    if (claimed !== null && !(await runStep(deps, claimed, signal))) failed.add(due.step);
  }
}

async function runStep(deps: Dependencies, claimed: PendingStepRow, signal: AbortSignal): Promise<boolean> {
  const { subject, step, tries } = claimed;
  const call: StepCall = {
    subject,
    finish: (record) => finishStep(deps.store, claimed, record),
    signal: AbortSignal.any([signal, AbortSignal.timeout(CLAIM_MS - MARGIN_MS)]),
  };
  try {
    await steps[step](deps, call);
    return true;
  } catch (error) {
    // A message of anything but a peer might hold more than a reader of the API may see.
    const reason = error instanceof PeerError ? error.message : 'an unexpected error, which the log describes';
    const pauseMs = signal.aborted ? 0 : stepBackoff(tries);
    deps.log('warn', `the step ${step} has failed: ${String(error)}`, { subject, tries });
    await postponeStep(deps.store, claimed, { error: reason, dueAt: deps.clock() + pauseMs });
    return false;
  }
}

function finishStep(
  store: Store,
  claimed: PendingStepRow,
  record: (work: Store) => Promise<void> = async () => {},
): Promise<boolean> {
  return store.transaction().execute(async (work) => {
    if (!(await removeStep(work, claimed))) return false;
    await record(work);
    return true;
  });
}
