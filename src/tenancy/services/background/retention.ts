import { chooseArchivesToRemove, forgetArchive } from '../../store/archives.ts';
import { deleteOldBundles, findEnvsOverLimit } from '../../store/bundles.ts';
import { deleteReports } from '../../store/reports.ts';
import { sessionsOverBefore } from '../../rules/sessionLife.ts';
import { deleteOldSessions } from '../../store/sessions.ts';
import type { Dependencies } from '../dependencies.ts';

const DAY_MS = 24 * 3600_000;
/** Reports that are deleted in one transaction. */
const REPORTS_AT_ONCE = 1000;
/** A push ends long before; an archive that is older and of no bundle has been left behind by one that failed. */
const PUSH_MS = 3600_000;

/** Deletes reports that are older than `keep_reports_days`. */
export async function removeOldReports(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const before = deps.clock() - deps.settings.keep_reports_days * DAY_MS;
  while (!signal.aborted && (await deleteReports(deps.store, before, REPORTS_AT_ONCE)) === REPORTS_AT_ONCE);
}

/** Removes bundles that are neither among the newest of their env, nor desired, nor on a host, and their archives. */
export async function removeOldBundles(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { store, bundles, settings } = deps;
  for (const env of await findEnvsOverLimit(store, settings.keep_bundles)) {
    const count = await store.transaction().execute((work) => deleteOldBundles(work, env, settings.keep_bundles));
    if (count > 0) deps.log('info', `removed ${count} old bundles`, { env });
  }
  for (const sha256 of await chooseArchivesToRemove(store, deps.clock() - PUSH_MS)) {
    if (signal.aborted) return;
    await bundles.remove(sha256);
    await forgetArchive(store, sha256);
  }
}

/** Deletes sessions that are over. */
export async function removeOldSessions({ store, settings, clock }: Dependencies): Promise<void> {
  await deleteOldSessions(store, sessionsOverBefore(settings.session, clock()));
}
