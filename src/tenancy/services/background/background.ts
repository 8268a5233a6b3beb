import { setTimeout } from 'node:timers/promises';
import type { Dependencies } from '../dependencies.ts';
import { askGates } from './gates.ts';
import { runPendingSteps } from './pendingSteps.ts';
import { removeOldBundles, removeOldReports, removeOldSessions } from './retention.ts';
import { advanceRollouts } from './rollouts.ts';
import { expireRetirements, markSilentBackends } from './silentBackends.ts';
import { removeStaleUploads } from './staleUploads.ts';
import { deliverWebhooks, removeOldDeadLetters } from './webhookDeliveries.ts';

/** Work that the service does by itself, again and again; several instances may do it at once. */
interface Job {
  name: string;
  everyMs: number;
  /** Milliseconds from the start of the service; without it, 0. */
  firstAfterMs?: (deps: Dependencies) => number;
  run: (deps: Dependencies, signal: AbortSignal) => Promise<void>;
}

const SECOND_MS = 1000;
const HOUR_MS = 3600_000;

const jobs: readonly Job[] = [
  {
    name: 'marking silent backends',
    everyMs: 5 * SECOND_MS,
    // After an outage of the service its hosts come back first.
    firstAfterMs: ({ settings }) => settings.offline_after_s * SECOND_MS,
    run: markSilentBackends,
  },
  { name: 'expiring retirements', everyMs: 5 * SECOND_MS, run: expireRetirements },
  { name: 'doing pending steps', everyMs: 2 * SECOND_MS, run: runPendingSteps },
  { name: 'advancing rollouts', everyMs: 2 * SECOND_MS, run: advanceRollouts },
  { name: 'asking gates', everyMs: 2 * SECOND_MS, run: askGates },
  { name: 'delivering webhooks', everyMs: SECOND_MS, run: deliverWebhooks },
  { name: 'removing old dead letters', everyMs: HOUR_MS, run: removeOldDeadLetters },
  { name: 'removing old reports', everyMs: HOUR_MS, run: removeOldReports },
  { name: 'removing old bundles', everyMs: HOUR_MS, run: removeOldBundles },
  { name: 'removing old sessions', everyMs: HOUR_MS, run: removeOldSessions },
  { name: 'removing stale uploads', everyMs: HOUR_MS, run: removeStaleUploads },
];

/** Does the background work until the signal; resolves when all of it has ended. Nothing that fails ends it. */
export async function runBackground(deps: Dependencies, signal: AbortSignal): Promise<void> {
  await Promise.all(jobs.map((job) => repeat(deps, job, signal)));
}

/** Does all background work once. */
export async function runBackgroundOnce(deps: Dependencies, signal: AbortSignal): Promise<void> {
  for (const job of jobs) await runJob(deps, job, signal);
}

async function repeat(deps: Dependencies, job: Job, signal: AbortSignal): Promise<void> {
  await pause(job.firstAfterMs?.(deps) ?? 0, signal);
  while (!signal.aborted) {
    await runJob(deps, job, signal);
    await pause(job.everyMs, signal);
  }
}

/** Ends early with the signal. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
}

async function runJob(deps: Dependencies, { name, run }: Job, signal: AbortSignal): Promise<void> {
  try {
    await run(deps, signal);
  } catch (error) {
    deps.log('error', `${name} has failed, and is tried again: ${String(error)}`);
  }
}
