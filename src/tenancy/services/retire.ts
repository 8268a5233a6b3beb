import type { BackendState } from '../../../machines/backend.ts';
import { RETIRED } from '../rules/webhooks/event.ts';
import { addAuditEntry } from '../store/audit.ts';
import { changeBackend, setTrouble } from '../store/backends.ts';
import type { BackendRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { conflict } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { requireBackend, type BackendCall } from './backends.ts';
import type { Dependencies } from './dependencies.ts';
import type { AuditCaller } from './operator.ts';
import { announce } from './webhooks/announce.ts';

/** The request to retire a backend. */
export interface RetireCall extends BackendCall {
  caller: AuditCaller;
  confirm: boolean;
  force: boolean;
  purgeVolumes: boolean;
}

/**
 * Begins the retirement of a backend; asking again changes what is not done yet. Throws 404, and 409: `CONFIRM_REQUIRED`,
 * `BACKEND_OFFLINE` without force, `BACKEND_RETIRED`.
 */
export async function retireBackend(
  deps: Dependencies,
  { confirm, force, purgeVolumes, caller, ...call }: RetireCall,
): Promise<{ id: string; state: BackendState }> {
  const { id, env } = await requireBackend(deps, call);
  if (!confirm) throw conflict({ code: 'CONFIRM_REQUIRED', message: 'retiring needs confirm: true', env });
  const state = await deps.store.transaction().execute(async (work) => {
    const change = { event: { type: 'RETIRE', force, purgeVolumes }, now: deps.clock() } as const;
    const row = await changeBackend(work, id, change);
    if (row === null) return null;
    await addAuditEntry(work, auditEntry(deps, caller, { target: id, env }));
    await announceEnd(work, row, change.now);
    return row.state;
  });
  if (state === null) throw await refusalOf(deps, call);
  return { id, state };
}

/** Announces that trouble and silence of a backend are over: what it tells while it retires is not announced. */
async function announceEnd(work: Store, backend: BackendRow & { previous: BackendState }, now: number): Promise<void> {
  const end = { now, env: backend.env, backend, code: RETIRED };
  if (await setTrouble(work, backend.id, null)) await announce(work, { ...end, type: 'backend.recovered' });
  if (backend.previous === 'offline') await announce(work, { ...end, type: 'backend.back' });
}

async function refusalOf(deps: Dependencies, call: BackendCall) {
  const { state, env } = await requireBackend(deps, call);
  if (state === 'retired') return retired(env);
  const message = 'the backend is offline; force: true retires it all the same';
  return conflict({ code: 'BACKEND_OFFLINE', message, env });
}

/** The refusal of an act on a backend whose life is over. */
export function retired(env: string) {
  return conflict({ code: 'BACKEND_RETIRED', message: 'the backend is retired, or about to be', env });
}
