import type { Report } from '../../protocol/report.ts';
import { changeBackend } from './backends.ts';
import type { Place } from './database.ts';
import type { Store } from './openStore.ts';
import { listManagers } from './swarms.ts';
import { changeOutcome, type OutcomeChange } from './rolloutHosts.ts';

/** A report, when it came, and what it means for the host in a rollout; null outside of one. */
interface Receipt {
  report: Report;
  now: number;
  rollout?: OutcomeChange | null;
}

/**
 * Keeps a report of a backend, once for each `report_id`; false if it was kept before. One of `down` goes on with the
 * retirement, in the same transaction; that of a swarm's leader with those of all its managers, whose env is locked.
 */
export async function addReport(work: Store, backendId: string, receipt: Receipt): Promise<boolean> {
  const { report, now, rollout = null } = receipt;
  const { report_id, outcome } = report;
  const values = { report_id, backend_id: backendId, received_at: now, outcome, body: JSON.stringify(report) };
  const insert = work
    .insertInto('reports')
    .values(values)
    .onConflict((conflict) => conflict.doNothing());
  if ((await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 0n) return false;
  if (rollout !== null) await changeOutcome(work, backendId, rollout);
  if (outcome === 'down') await finishDown(work, backendId, now);
  return true;
}

async function finishDown(work: Store, id: string, now: number): Promise<void> {
  const change = { event: { type: 'REPORT_DOWN' }, now } as const;
  const row = await changeBackend(work, id, change);
  if (row === null) return;
  for (const manager of await listManagers(work, row)) await changeBackend(work, manager.id, change);
}

/** A report as it was received, in milliseconds since 1970. */
export interface ReceivedReport {
  receivedAt: number;
  report: Report;
}

/** A page of reports of a backend, newest first; `before` is the place of the last one of the page before. */
export async function listReports(
  store: Store,
  backendId: string,
  { before, limit }: { before?: Place | undefined; limit: number },
): Promise<ReceivedReport[]> {
  const query = store
    .selectFrom('reports')
    .select(['received_at', 'body'])
    .where('backend_id', '=', backendId)
    .orderBy('received_at', 'desc')
    .orderBy('report_id', 'desc')
    .limit(limit);
  const page = before
    ? query.where((where) =>
        where(where.refTuple('received_at', 'report_id'), '<', where.tuple(before.time, before.id)),
      )
    : query;
  const rows = await page.execute();
  return rows.map(({ received_at, body }) => ({ receivedAt: received_at, report: JSON.parse(body) as Report }));
}

/** Deletes reports that were received before a time, so many at once; returns how many. */
export async function deleteReports(store: Store, before: number, limit: number): Promise<number> {
  const all = store.selectFrom('reports').select(['backend_id', 'report_id']).orderBy('received_at');
  const old = all.where('received_at', '<', before).limit(limit);
  const deletion = store
    .deleteFrom('reports')
    .where((where) => where(where.refTuple('backend_id', 'report_id'), 'in', old.$asTuple('backend_id', 'report_id')));
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows);
}
