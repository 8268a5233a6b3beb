import type { TenancyParts } from './createTenancy.ts';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { endSecretGraces, expireRetirements, runPendingSteps } from '../backends/finishing.ts';
import { markSilentBackends } from '../backends/fleet.ts';
import { incomingDirectory } from '../bundles/archives.ts';
import { countRefusals, removeOldEntries } from '../core/audit.ts';
import { sessionsOverBefore } from '../people/authenticate.ts';
import { advanceRollouts, askGates } from '../rollouts/advance.ts';
import { removeExpiredTokens } from '../secretstore/records.ts';
import { deleteReports } from '../store/agents.ts';
import { chooseArchivesToRemove, deleteOldBundles, findEnvsOverLimit, forgetArchive } from '../store/bundles.ts';
import { listHeldEnvs } from '../store/envs.ts';
import { deleteOldSessions } from '../store/people.ts';
import { deliverWebhooks, removeOldDeadLetters } from '../webhooks/deliver.ts';

/** Periodic work of the service; several instances may run it at the same time. */
interface Job {
  name: string;
  everyMs: number;
  /** Milliseconds from the start of the service; by default 0. */
  firstAfterMs?: (parts: TenancyParts) => number;
  run: (parts: TenancyParts, signal: AbortSignal) => Promise<void>;
}

const SECOND_MS = 1000;
const HOUR_MS = 3600_000;

const jobs: readonly Job[] = [
  {
    name: 'marking silent backends',
    everyMs: 5 * SECOND_MS,
    // After an outage of the service, hosts get time to check in again first.
    firstAfterMs: ({ settings }) => settings.offline_after_s * SECOND_MS,
    run: markSilentBackends,
  },
  { name: 'expiring retirements', everyMs: 5 * SECOND_MS, run: expireRetirements },
  {
    name: 'ending the graces of secrets',
    everyMs: 5 * SECOND_MS,
    // After an outage of the service, operators get time to keep secrets whose grace has ended meanwhile.
    firstAfterMs: ({ settings }) => Math.min(settings.secret_grace_s * SECOND_MS, HOUR_MS),
    run: endSecretGraces,
  },
  { name: 'doing pending steps', everyMs: 2 * SECOND_MS, run: runPendingSteps },
  { name: 'advancing rollouts', everyMs: 2 * SECOND_MS, run: advanceRollouts },
  { name: 'asking gates', everyMs: 2 * SECOND_MS, run: askGates },
  { name: 'delivering webhooks', everyMs: SECOND_MS, run: deliverWebhooks },
  {
    name: 'comparing the store with its marks',
    everyMs: 60 * SECOND_MS,
    // The first check-in waits for the comparison; until then, an administrator may still set up the secretstore.
    firstAfterMs: () => 60 * SECOND_MS,
    run: ({ watch }) => watch.look(),
  },
  { name: 'counting refusals', everyMs: 5 * SECOND_MS, run: countRefusals },
  { name: 'removing old audit entries', everyMs: HOUR_MS, run: removeOldAudit },
  { name: 'removing old dead letters', everyMs: HOUR_MS, run: removeOldDeadLetters },
  { name: 'removing old reports', everyMs: HOUR_MS, run: removeOldReports },
  { name: 'removing old bundles', everyMs: HOUR_MS, run: removeOldBundles },
  { name: 'removing expired tokens', everyMs: 60 * SECOND_MS, run: removeExpiredTokens },
  { name: 'removing old sessions', everyMs: HOUR_MS, run: removeOldSessions },
  { name: 'removing stale uploads', everyMs: HOUR_MS, run: removeStaleUploads },
];

/** Runs the background work until the signal; resolves when all of it has ended. Failures do not end it. */
export async function runBackground(parts: TenancyParts, signal: AbortSignal): Promise<void> {
  await Promise.all(jobs.map((job) => repeat(parts, job, signal)));
}

/** Runs all background work once. */
export async function runBackgroundOnce(parts: TenancyParts, signal: AbortSignal): Promise<void> {
  for (const job of jobs) await runJob(parts, job, signal);
}

async function repeat(parts: TenancyParts, job: Job, signal: AbortSignal): Promise<void> {
  await pause(job.firstAfterMs?.(parts) ?? 0, signal);
  while (!signal.aborted) {
    await runJob(parts, job, signal);
    await pause(job.everyMs, signal);
  }
}

/** Waits; ends early with the signal. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
}

async function runJob(parts: TenancyParts, { name, run }: Job, signal: AbortSignal): Promise<void> {
  try {
    await run(parts, signal);
  } catch (error) {
    parts.log('error', `${name} has failed, and is tried again: ${String(error)}`);
  }
}

const DAY_MS = 24 * 3600_000;
/** Number of reports to delete in one transaction. */
const REPORTS_AT_ONCE = 1000;
/** Milliseconds after which an archive without a bundle is the leftover of a failed push: any push ends long before. */
const PUSH_MS = 3600_000;

/** Removes entries of the audit log that are older than `keep_audit_days`, if that is set. */
async function removeOldAudit(parts: TenancyParts, signal: AbortSignal): Promise<void> {
  const { keep_audit_days: days } = parts.settings;
  if (days !== null) await removeOldEntries(parts, parts.clock() - days * DAY_MS, signal);
}

/** Deletes reports that are older than `keep_reports_days`. */
async function removeOldReports(parts: TenancyParts, signal: AbortSignal): Promise<void> {
  const before = parts.clock() - parts.settings.keep_reports_days * DAY_MS;
  while (!signal.aborted && (await deleteReports(parts.store, before, REPORTS_AT_ONCE)) === REPORTS_AT_ONCE);
}

/**
 * Removes bundles, with their archives, that are neither among the newest of their environment, nor desired, nor on a
 * host. Removes nothing while a restore is reviewed.
 */
async function removeOldBundles(parts: TenancyParts, signal: AbortSignal): Promise<void> {
  const { store, bundles, settings } = parts;
  if ((await listHeldEnvs(store)).length > 0) return;
  for (const env of await findEnvsOverLimit(store, settings.keep_bundles)) {
    const count = await store.transaction().execute((work) => deleteOldBundles(work, env, settings.keep_bundles));
    if (count > 0) parts.log('info', `removed ${count} old bundles`, { env });
  }
  for (const sha256 of await chooseArchivesToRemove(store, parts.clock() - PUSH_MS)) {
    if (signal.aborted) return;
    await bundles.remove(sha256);
    await forgetArchive(store, sha256);
  }
}

/** Deletes sessions that are over. */
async function removeOldSessions({ store, settings, clock }: TenancyParts): Promise<void> {
  await deleteOldSessions(store, sessionsOverBefore(settings.session, clock()));
}

/** Milliseconds without a change after which an upload is the leftover of a crash: any push ends long before. */
const STALE_MS = 3600_000;

/** Removes uploads that a crash interrupted; other instances may receive uploads in the same directory. */
async function removeStaleUploads({ settings, clock }: TenancyParts): Promise<void> {
  const directory = incomingDirectory(settings.state_dir);
  for (const name of await readdir(directory).catch(ignoreMissing)) {
    const path = join(directory, name);
    const stats = await stat(path).catch(() => null);
    if (stats !== null && clock() - stats.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
