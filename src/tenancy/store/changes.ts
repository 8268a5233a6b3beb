import type { BackendState } from '../../../machines/backend.ts';
import type { AuditRow } from './database.ts';
import type { Store } from './openStore.ts';
import { listActiveRollouts } from './rollouts.ts';

/** The newest `limit` entries of the audit log, newest first, as far as they tell what was changed. */
export function newestEntries(store: Store, limit: number): Promise<Pick<AuditRow, 'id' | 'act' | 'env' | 'result'>[]> {
  return store.selectFrom('audit').select(['id', 'act', 'env', 'result']).orderBy('id', 'desc').limit(limit).execute();
}

/**
 * A text that differs after each check-in, report and heartbeat, when a host becomes silent, and after each try of a step of a
 * retirement: the ends of indexes, whatever the number of hosts, and the number of the few steps that are pending.
 */
export async function hostMark(store: Store): Promise<string> {
  const seen = (state: BackendState) => store.selectFrom('backends').where('state', '=', state);
  const steps = store.selectFrom('pending_steps');
  const marks = store.selectNoFrom([
    seen('active')
      .select(({ fn }) => fn.max('last_seen_at').as('time'))
      .as('newest_active'),
    seen('active')
      .select(({ fn }) => fn.min('last_seen_at').as('time'))
      .as('oldest_active'),
    seen('offline')
      .select(({ fn }) => fn.max('last_seen_at').as('time'))
      .as('newest_offline'),
    store
      .selectFrom('reports')
      .select(({ fn }) => fn.max('received_at').as('time'))
      .as('newest_report'),
    steps.select(({ fn }) => fn.countAll().as('steps')).as('steps'),
    steps.select(({ fn }) => fn.max('due_at').as('time')).as('newest_step'),
  ]);
  return JSON.stringify(await marks.executeTakeFirstOrThrow());
}

/** Rollouts that are not over, each with a text that differs when it goes on, and when the webhook of its gate has answered. */
export async function rolloutMarks(store: Store): Promise<{ id: string; env: string; mark: string }[]> {
  const rows = await listActiveRollouts(store, null);
  return rows.map(({ id, env, state, started, progress, gate_reason }) => ({
    ...{ id, env },
    mark: JSON.stringify([state, started, progress, gate_reason]),
  }));
}
