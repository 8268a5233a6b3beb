import type { BackendState } from '../../../machines/backend.ts';
import { RETIRED } from '../rules/webhooks/event.ts';
import { addAuditEntry } from '../store/audit.ts';
import { changeBackend, findBackend, setTrouble } from '../store/backends.ts';
import type { BackendRow } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { isShared, listManagers } from '../store/swarms.ts';
import { conflict, notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { requireBackend, type BackendCall } from './backends.ts';
import { swarmOf } from './backendViews.ts';
import type { Dependencies } from './dependencies.ts';
import type { AuditCaller } from './operator.ts';
import { skipDown } from './skipDown.ts';
import { announce } from './webhooks/announce.ts';

/** The request to retire a backend. */
export interface RetireCall extends BackendCall {
  caller: AuditCaller;
  confirm: boolean;
  force: boolean;
  /** All managers of its swarm are retired with it. */
  isWholeSwarm: boolean;
  purgeVolumes: boolean;
}

/** A retirement that has begun; `others` are the managers that are retired with a backend. */
export interface Retiring extends RetiringBackend {
  others?: RetiringBackend[];
}

interface RetiringBackend {
  id: string;
  state: BackendState;
}

/**
 * Begins the retirement of a backend, or of all managers of its swarm; asking again changes what is not done yet. Nothing is taken
 * down while a manager is left. Throws 404, and 409: `CONFIRM_REQUIRED`, `BACKEND_RETIRED`, and without force `BACKEND_OFFLINE`
 * and `BACKEND_LEADS`.
 */
export async function retireBackend(deps: Dependencies, call: RetireCall): Promise<Retiring> {
  const row = await requireBackend(deps, call);
  if (!call.confirm)
    throw conflict({ code: 'CONFIRM_REQUIRED', message: 'retiring needs confirm: true', env: row.env });
  return deps.store.transaction().execute(async (work) => {
    await lockEnv(work, row.env);
    if (!call.isWholeSwarm && !call.force) await refuseLeader(work, row.id);
    const managers = call.isWholeSwarm ? await listManagers(work, row) : [];
    const others = managers.filter(({ id }) => id !== row.id);
    const retiring: BackendRow[] = [];
    for (const { id } of [row, ...others]) retiring.push(await beginRetirement(deps, work, { ...call, id }));
    const states: RetiringBackend[] = [];
    for (const each of retiring) states.push({ id: each.id, state: await stateAfter(deps, work, each) });
    const [own = row, ...rest] = states;
    return { id: own.id, state: own.state, ...(call.isWholeSwarm && { others: rest }) };
  });
}

/** Throws 409 for a manager that leads others: while it does so without an agent, nobody acts for them. */
async function refuseLeader(work: Store, id: string): Promise<void> {
  const row = await findBackend(work, id);
  const swarm = row?.state === 'active' ? swarmOf(row) : null;
  if (row === null || swarm?.leader !== true || !(await isShared(work, row))) return;
  const message = `the backend ${id} leads its swarm: first run docker node demote ${swarm.node}, or retire the whole swarm`;
  throw conflict({ code: 'BACKEND_LEADS', message, env: row.env });
}

async function beginRetirement(
  deps: Dependencies,
  work: Store,
  { id, force, purgeVolumes, caller }: RetireCall,
): Promise<BackendRow> {
  const change = { event: { type: 'RETIRE', force, purgeVolumes }, now: deps.clock() } as const;
  const row = await changeBackend(work, id, change);
  if (row === null) throw await refusalOf(work, id);
  await addAuditEntry(work, auditEntry(deps, caller, { target: id, env: row.env }));
  await announceEnd(work, row, change.now);
  return row;
}

async function stateAfter(deps: Dependencies, work: Store, row: BackendRow): Promise<BackendState> {
  return row.state === 'retiring' && (await skipDown(deps, work, row)) ? 'finishing' : row.state;
}

/** Announces that trouble and silence of a backend are over: what it tells while it retires is not announced. */
async function announceEnd(work: Store, backend: BackendRow & { previous: BackendState }, now: number): Promise<void> {
  const end = { now, env: backend.env, backend, code: RETIRED };
  if (await setTrouble(work, backend.id, null)) await announce(work, { ...end, type: 'backend.recovered' });
  if (backend.previous === 'offline') await announce(work, { ...end, type: 'backend.back' });
}

async function refusalOf(work: Store, id: string) {
  const row = await findBackend(work, id);
  if (row === null) return notFound('backend');
  if (row.state !== 'offline') return retired(row.env);
  const message = `the backend ${id} is offline; force: true retires it all the same`;
  return conflict({ code: 'BACKEND_OFFLINE', message, env: row.env });
}

/** The refusal of an act on a backend whose life is over. */
export function retired(env: string) {
  return conflict({ code: 'BACKEND_RETIRED', message: 'the backend is retired, or about to be', env });
}
