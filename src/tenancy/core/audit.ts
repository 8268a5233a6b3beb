import type { AuditRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import {
  addAuditEntry,
  addCountedEntry,
  type AuditEntry,
  type AuditFilter,
  listAuditEntries,
  raiseCount,
  removeAuditEntries,
} from '../store/people.ts';
import { type AuditCaller, type Operator, type RefusedAct, visibleEnvs } from './permission.rules.ts';
import { toPage } from './lists.rules.ts';

/** Dependencies of the audit log. */
export interface AuditDependencies {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Name of the service itself in the audit log, which no operator can have. */
export const SERVICE_ACTOR = 'deployd-tenancy';

/** Prefix of the names of signed-in people in the audit log, which no operator's name can have. */
const PERSON_PREFIX = 'oidc:';

/** The name of a signed-in person in the audit log. */
export function personActor(name: string): string {
  return PERSON_PREFIX + name;
}

/** True for a name in the audit log that no operator may have. */
export function isReservedActor(name: string): boolean {
  return name === SERVICE_ACTOR || name.startsWith(PERSON_PREFIX);
}

/** The object of an action; `change` has the values before and after, as text. */
interface Audited {
  target: string;
  env: string | null;
  change?: readonly [before: string | null, after: string | null];
}

/** The audit entry of a successful action. */
export function auditEntry(
  { clock }: { clock: () => number },
  { actor, act, address, requestId }: AuditCaller,
  { target, env, change: [old_value, new_value] = [null, null] }: Audited,
): AuditEntry {
  const told = { at: clock(), actor, act, target, env, address, request_id: requestId, result: 'ok' };
  return { ...told, old_value, new_value };
}

/** The caller for actions of the service itself. */
export function byService(act: string): AuditCaller {
  return { actor: SERVICE_ACTOR, act, address: null, requestId: null };
}

/** Adds a failed action to the audit log. */
export async function recordFailedAct(
  deps: AuditDependencies,
  { target, env, result, ...caller }: RefusedAct,
): Promise<void> {
  await addAuditEntry(deps.store, { ...auditEntry(deps, caller, { target, env }), result });
}

/** Milliseconds in which the same refusals of a caller are one entry. */
const REPEATED_MS = 60_000;
/**
 * Number of environments and addresses with separate entries, of one caller, action and result within that time. All
 * others share one entry without environment, so that no caller can fill the log.
 */
const MAX_VARIANTS = 10;

/** An entry, and how many further refusals it does not count yet. */
interface Repeated {
  id: Promise<number>;
  uncounted: number;
}

/** Entries of one caller, action and result by environment and address, until a time. */
interface Refusals {
  startedAt: number;
  variants: Map<string, Repeated>;
}

/** Refusals of the newest minute, by store. */
const refusalsOf = new WeakMap<Store, Map<string, Refusals>>();

/**
 * Adds a refused action to the audit log. The same action of the same caller with the same result within a minute is
 * only counted, and `countRefusals` adds the count to the entry. Each instance of the service has its own entries.
 */
export async function recordRefusedAct(deps: AuditDependencies, refused: RefusedAct): Promise<void> {
  const { actor, act, address, target, env, result } = refused;
  const refusals = recentRefusals(deps, JSON.stringify([actor, act, result]));
  const own = JSON.stringify([env, address]);
  const isBeyond = !refusals.variants.has(own) && refusals.variants.size >= MAX_VARIANTS;
  const variant = isBeyond ? 'others' : own;
  const repeated = refusals.variants.get(variant);
  if (repeated !== undefined) {
    repeated.uncounted++;
    await repeated.id;
    return;
  }
  const entry = { ...auditEntry(deps, refused, { target, env: isBeyond ? null : env }), result };
  const id = addCountedEntry(deps.store, entry);
  refusals.variants.set(variant, { id, uncounted: 0 });
  // Without an entry, the next refusal adds it.
  await id.catch((error: unknown) => {
    refusals.variants.delete(variant);
    throw error;
  });
}

function recentRefusals({ store, clock }: AuditDependencies, key: string): Refusals {
  const all = refusalsOf.get(store) ?? new Map<string, Refusals>();
  refusalsOf.set(store, all);
  const now = clock();
  const recent = all.get(key);
  if (recent !== undefined && Math.abs(now - recent.startedAt) < REPEATED_MS) return recent;
  // Refusals that are not counted yet keep their entry until they are.
  if (recent !== undefined) all.set(`${key} until ${recent.startedAt}`, recent);
  const begun = { startedAt: now, variants: new Map<string, Repeated>() };
  all.set(key, begun);
  return begun;
}

/** Adds the counts of repeated refusals to their entries, and discards refusals of more than a minute ago. */
export async function countRefusals({ store, clock }: AuditDependencies): Promise<void> {
  for (const [key, { startedAt, variants }] of refusalsOf.get(store) ?? []) {
    for (const repeated of variants.values()) {
      const { uncounted } = repeated;
      if (uncounted === 0) continue;
      await raiseCount(store, await repeated.id, uncounted);
      repeated.uncounted -= uncounted;
    }
    const isOver = Math.abs(clock() - startedAt) >= REPEATED_MS;
    if (isOver && [...variants.values()].every(({ uncounted }) => uncounted === 0)) refusalsOf.get(store)?.delete(key);
  }
}

/** Number of entries to remove in one transaction. */
const REMOVED_AT_ONCE = 1000;

/** Removes entries of before a time, and records that; several instances may do it at the same time. */
export async function removeOldEntries(deps: AuditDependencies, before: number, signal: AbortSignal): Promise<void> {
  for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE && !signal.aborted;) {
    removed = await deps.store.transaction().execute(async (work) => {
      const count = await removeAuditEntries(work, before, REMOVED_AT_ONCE);
      const target = `${count} entries before ${new Date(before).toISOString()}`;
      if (count > 0) await addAuditEntry(work, auditEntry(deps, byService('audit.remove'), { target, env: null }));
      return count;
    });
  }
}

/** Milliseconds after which an entry does not change any more, and no entry with a lower id can appear. */
const SETTLED_MS = 2 * REPEATED_MS;

/** An entry of the audit log as the API returns it. */
export interface AuditView extends Omit<AuditRow, 'at' | 'old_value' | 'new_value'> {
  /** RFC 3339. */
  at: string;
  before: string | null;
  after: string | null;
}

/** A page of the audit log of the environments that the operator may see: newest first, or oldest first after an id. */
export async function listAudit(
  { store, clock }: AuditDependencies,
  {
    operator,
    env,
    after,
    ...filter
  }: { operator: Operator; env?: string; after?: number } & Omit<AuditFilter, 'envs' | 'after'>,
): Promise<{ entries: AuditView[]; next: number | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const settled = after === undefined ? undefined : { id: after, addedBefore: clock() - SETTLED_MS };
  const rows = await listAuditEntries(store, { ...filter, after: settled, envs, limit: filter.limit + 1 });
  const { items, last } = toPage(rows, filter.limit);
  const entries = items.map(({ at, old_value: before, new_value: after, ...entry }) => ({
    ...entry,
    at: new Date(at).toISOString(),
    before,
    after,
  }));
  return { entries, next: last?.id ?? null };
}
