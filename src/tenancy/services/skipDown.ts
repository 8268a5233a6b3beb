import { addAuditEntry } from '../store/audit.ts';
import { changeBackend } from '../store/backends.ts';
import type { Store } from '../store/openStore.ts';
import { isShared, type ManagerRow } from '../store/swarms.ts';
import { auditEntry, byService } from './audit.ts';
import type { Dependencies } from './dependencies.ts';

/**
 * Goes on with the retirement of a manager whose swarm others of its locked env manage too, without `down`: what they run stays.
 * True where that is so.
 */
export async function skipDown(
  deps: Dependencies,
  work: Store,
  row: Pick<ManagerRow, 'id' | 'env' | 'swarm_id'>,
): Promise<boolean> {
  if (!(await isShared(work, row))) return false;
  await changeBackend(work, row.id, { event: { type: 'SKIP_DOWN' }, now: deps.clock() });
  await addAuditEntry(work, auditEntry(deps, byService('backend.skipDown'), { target: row.id, env: row.env }));
  return true;
}
