import type { BackendState } from '../../../machines/backend.ts';
import { skipDown } from '../agents/agents.ts';
import { acceptHost, type HostPair } from '../agents/clones.rules.ts';
import { ApiError, conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry, byService } from '../core/audit.ts';
import { type AuditCaller, type Operator, requirePermission } from '../core/permission.rules.ts';
import { toPage } from '../core/lists.rules.ts';
import { secretsPending, storeSecretsChoice } from '../envs/envs.ts';
import { readDesired } from './fleet.ts';
import { listReports as selectReports, setTrouble } from '../store/agents.ts';
import {
  type BackendFields,
  changeBackend,
  createBackend as insertBackend,
  findBackend,
  isShared,
  listManagers,
  setHosts,
  setLabels,
  setLock,
} from '../store/backends.ts';
import type { BackendRow, EnvRow, HostHistory, Labels, Place, SecretsChoice } from '../store/database.ts';
import {
  chooseSecrets,
  findBundleTrust,
  findEnv,
  findSecretsEnd,
  hasRemainingBackends,
  lockEnv,
} from '../store/envs.ts';
import { expectedSettings } from '../bundles/bundleList.ts';
import type { Store } from '../store/openStore.ts';
import { listPendingSteps } from '../store/pendingSteps.ts';
import { addAuditEntry } from '../store/people.ts';
import { RETIRED } from '../webhooks/event.rules.ts';
import { announce } from '../webhooks/deliver.ts';
import {
  type BackendDependencies,
  backendDetails,
  copiesOf,
  leftoverOf,
  reportView,
  silenceLimits,
  swarmOf,
} from './backendViews.ts';
import type { BackendDetails, ReceivedReport, Retiring } from './backendSchemas.ts';

/** An operator's request about one backend. */
export interface BackendCall {
  operator: Operator;
  id: string;
}

/** Returns the row of a backend; throws 404, also if the operator may not see its environment. */
export async function requireBackend(
  { store }: BackendDependencies,
  { operator, id }: BackendCall,
): Promise<BackendRow> {
  const row = await findBackend(store, id);
  if (row === null) throw notFound('backend');
  requirePermission(operator, { role: 'viewer', env: row.env }, 'backend');
  return row;
}

/** Returns one backend with its newest report; throws 404. */
export async function readBackend(deps: BackendDependencies, call: BackendCall): Promise<BackendDetails> {
  const { store } = deps;
  const row = await requireBackend(deps, call);
  const [desired, env, expected, pending, [newest], managers] = await Promise.all([
    readDesired(store, [row.env]),
    findEnv(store, row.env),
    findBundleTrust(store, row.env).then(expectedSettings),
    listPendingSteps(store, row.id),
    selectReports(store, row.id, { limit: 1 }),
    listManagers(store, row),
  ]);
  const secretsDestroyAt = env?.secrets_destroy_at ?? null;
  const facts = { desired: desired.of(row), limits: silenceLimits(deps), expected, pending, managers };
  return backendDetails(row, { ...facts, secretsDestroyAt, newest: newest ?? null });
}

/**
 * Creates a backend, which saves the secrets of its environment from destruction. Throws 404 if the environment
 * does not exist, 409 while its secrets are being destroyed.
 */
export async function createBackend(
  deps: BackendDependencies,
  { operator, caller, fields }: { operator: Operator; caller: AuditCaller; fields: BackendFields },
): Promise<BackendDetails> {
  const id = await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, fields.env);
    if (row === null) throw notFound('env');
    return addBackend(deps, work, { row, caller, fields });
  });
  return readBackend(deps, { operator, id });
}

/** Creates a backend in a locked environment, see `createBackend`; returns its id. */
export async function addBackend(
  deps: BackendDependencies,
  work: Store,
  { row, caller, fields }: { row: EnvRow; caller: AuditCaller; fields: BackendFields },
): Promise<string> {
  const { name: env } = row;
  const [end, now] = [await findSecretsEnd(work, env), deps.clock()];
  if (end === 'destroying') throw secretsPending(env, end);
  await chooseSecrets(work, row, { choice: null, now });
  const created = await insertBackend(work, fields, now);
  await addAuditEntry(work, auditEntry(deps, caller, { target: created, env }));
  if (end === 'doomed') await addAuditEntry(work, auditEntry(deps, byService('secrets.keep'), { target: env, env }));
  return created;
}

/**
 * Changes the labels of a backend, by which the waves of rollouts select hosts; throws 404, and 400 for more than 32
 * labels.
 */
export async function labelBackend(
  deps: BackendDependencies,
  { caller, change, ...call }: BackendCall & { caller: AuditCaller; change: (labels: Labels) => Labels },
): Promise<BackendDetails> {
  const { id, env } = await requireBackend(deps, call);
  await deps.store.transaction().execute(async (work) => {
    // Two changes at the same time must not undo each other.
    await lockEnv(work, env);
    const row = await findBackend(work, id);
    if (row === null) throw notFound('backend');
    const before = JSON.parse(row.labels) as Labels;
    const labels = change(before);
    if (Object.keys(labels).length > MAX_LABELS)
      throw new ApiError({ status: 400, code: 'REQUEST_INVALID', message: `a host has at most ${MAX_LABELS} labels` });
    await setLabels(work, row, labels);
    const told = [labelsText(before), labelsText(labels)] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: id, env, change: told }));
  });
  return readBackend(deps, call);
}

/** Number of labels of a backend. */
const MAX_LABELS = 32;

/** Labels with some added or changed, and others removed. */
export function changedLabels(before: Labels, { set = {}, remove = [] }: { set?: Labels; remove?: string[] }): Labels {
  const kept = Object.entries(before).filter(([name]) => !remove.includes(name));
  return { ...Object.fromEntries(kept), ...set };
}

/** Labels as a text for the audit log. */
function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.toSorted().join(' ') || 'none';
}

/** Refuses all calls of a host from now on, or accepts them again; throws 404. */
export async function lockBackend(
  deps: BackendDependencies,
  { caller, isLocked, ...call }: BackendCall & { caller: AuditCaller; isLocked: boolean },
): Promise<BackendDetails> {
  const row = await requireBackend(deps, call);
  await deps.store.transaction().execute(async (work) => {
    await setLock(work, row.id, isLocked ? deps.clock() : null);
    const change = [row.locked_at === null ? 'unlocked' : 'locked', isLocked ? 'locked' : 'unlocked'] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: row.id, env: row.env, change }));
  });
  return readBackend(deps, call);
}

/**
 * Accepts one of the hosts that use the token of a backend, and refuses the others. Throws 404, and 409
 * `HOST_NOT_CONTESTED` if there is no such host, or only one.
 */
export async function acceptCopy(
  deps: BackendDependencies,
  { caller, pair, ...call }: BackendCall & { caller: AuditCaller; pair: HostPair },
): Promise<BackendDetails> {
  for (let isKept = false; !isKept;) {
    const row = await requireBackend(deps, call);
    const { env } = row;
    const hosts = acceptHost(row.hosts === null ? null : (JSON.parse(row.hosts) as HostHistory), pair);
    if (hosts === null) {
      const message = `the backend ${row.id} knows no such host, or only one`;
      throw conflict({ code: 'HOST_NOT_CONTESTED', message, env });
    }
    isKept = await deps.store.transaction().execute(async (work) => {
      if (!(await setHosts(work, row, hosts))) return false;
      const now = deps.clock();
      if (row.cloned_at !== null) await announce(work, { type: 'backend.accepted', now, env, backend: row });
      await addAuditEntry(work, auditEntry(deps, caller, { target: row.id, env }));
      return true;
    });
  }
  return readBackend(deps, call);
}

/** A page of the reports of a backend, newest first. */
export async function listReports(
  deps: BackendDependencies,
  { before, limit, ...call }: BackendCall & { before?: Place | undefined; limit: number },
): Promise<{ reports: ReceivedReport[]; last: Place | null }> {
  const { id } = await requireBackend(deps, call);
  const { items, last } = toPage(await selectReports(deps.store, id, { before, limit: limit + 1 }), limit);
  const place = last && { time: last.receivedAt, id: last.report.report_id };
  return { reports: items.map(reportView), last: place };
}

/** A request to retire a backend. */
interface RetireCall extends BackendCall {
  caller: AuditCaller;
  confirm: boolean;
  force: boolean;
  /** Retire all managers of its swarm too. */
  isWholeSwarm: boolean;
  purgeVolumes: boolean;
  /** The choice for the secrets of its environment, if no other backend remains there; null begins a grace. */
  secrets: SecretsChoice | null;
}

/**
 * Starts the retirement of a backend, or of all managers of its swarm; a repeated request changes the parts that are
 * not done yet. Nothing is taken down while another manager remains. Throws 404, and 409: `CONFIRM_REQUIRED`,
 * `BACKEND_RETIRED`, `SECRETS_PENDING`, and without force `BACKEND_OFFLINE`, `BACKEND_LEADS` and `BACKEND_CLONED`.
 */
export async function retireBackend(deps: BackendDependencies, call: RetireCall): Promise<Retiring> {
  const row = await requireBackend(deps, call);
  if (!call.confirm)
    throw conflict({ code: 'CONFIRM_REQUIRED', message: 'retiring needs confirm: true', env: row.env });
  return deps.store.transaction().execute(async (work) => {
    const env = await lockEnv(work, row.env);
    if (!call.isWholeSwarm && !call.force) await refuseLeader(work, row.id);
    const managers = call.isWholeSwarm ? await listManagers(work, row) : [];
    const others = managers.filter(({ id }) => id !== row.id);
    const retiring: BackendRow[] = [];
    for (const { id } of [row, ...others]) retiring.push(await beginRetirement(deps, work, { ...call, id }));
    for (const each of retiring) if (each.state === 'retiring') await skipDown(deps, work, each);
    const secrets = env && (await decideSecrets(deps, work, { env, call }));
    const states: Retiring['others'] = [];
    for (const { id } of retiring) states.push(await retiringView(deps, work, id));
    const [own = await retiringView(deps, work, row.id), ...rest] = states;
    const copies = retiring.flatMap(copiesOf).filter(({ role }) => role === 'contending' || role === 'refused');
    return {
      ...{ ...own, secrets, ...(call.isWholeSwarm && { others: rest }) },
      ...(copies.length > 0 && { copies }),
    };
  });
}

async function retiringView(
  { clock }: BackendDependencies,
  work: Store,
  id: string,
): Promise<NonNullable<Retiring['others']>[number]> {
  const row = await findBackend(work, id);
  if (row === null) throw notFound('backend');
  return { id, state: row.state, leftover: leftoverOf(row, clock()) };
}

/**
 * Stores the choice for the secrets of an environment in which no backend remains, and returns what will happen to them;
 * null while others remain, which need them. An earlier choice stands without a new one.
 */
async function decideSecrets(
  deps: BackendDependencies,
  work: Store,
  { env, call }: { env: EnvRow; call: RetireCall },
): Promise<NonNullable<Retiring['secrets']> | null> {
  if (await hasRemainingBackends(work, env.name)) return null;
  const [{ secret_grace_s: grace_s }, { secrets, caller }] = [deps.settings, call];
  if (secrets !== null) await storeSecretsChoice(deps, work, { env, choice: secrets, caller });
  const choice = secrets ?? env.secrets_choice ?? (grace_s === 0 ? 'destroy' : null);
  if (secrets === null && choice !== null) await chooseSecrets(work, env, { choice, now: deps.clock() });
  return { choice, grace_s };
}

/**
 * Throws 409 for a manager that leads others: a leader without an agent would leave the swarm without any acting agent.
 */
async function refuseLeader(work: Store, id: string): Promise<void> {
  const row = await findBackend(work, id);
  const swarm = row?.state === 'active' ? swarmOf(row) : null;
  if (row === null || swarm?.leader !== true || !(await isShared(work, row))) return;
  const message = `the backend ${id} leads its swarm: first run docker node demote ${swarm.node}, or retire the whole swarm`;
  throw conflict({ code: 'BACKEND_LEADS', message, env: row.env });
}

async function beginRetirement(
  deps: BackendDependencies,
  work: Store,
  { id, force, purgeVolumes, caller }: RetireCall,
): Promise<BackendRow> {
  const change = {
    event: { type: 'RETIRE', force, purgeVolumes },
    now: deps.clock(),
    columns: { cloned_at: null },
    when: ({ cloned_at }: BackendRow) => force || cloned_at === null,
  } as const;
  const before = await findBackend(work, id);
  const row = await changeBackend(work, id, change);
  if (row === null) throw await refusalOf(work, id);
  if ((before?.cloned_at ?? null) !== null)
    await announce(work, { type: 'backend.accepted', now: change.now, env: row.env, backend: row, code: RETIRED });
  await addAuditEntry(work, auditEntry(deps, caller, { target: id, env: row.env, change: [row.previous, row.state] }));
  await announceEnd(work, row, change.now);
  return row;
}

/** Announces the end of a backend's problem and of its silence; problems during its retirement are not announced. */
async function announceEnd(work: Store, backend: BackendRow & { previous: BackendState }, now: number): Promise<void> {
  const end = { now, env: backend.env, backend, code: RETIRED };
  if (await setTrouble(work, backend.id, { trouble: null, reason: null, now }))
    await announce(work, { ...end, type: 'backend.recovered' });
  if (backend.previous === 'offline') await announce(work, { ...end, type: 'backend.back' });
}

async function refusalOf(work: Store, id: string) {
  const row = await findBackend(work, id);
  if (row === null) return notFound('backend');
  if (row.cloned_at !== null) {
    const message = `two hosts use the token of the backend ${id}: accept one first, because only that one is taken down; force: true takes down every one that checks in before the first has finished`;
    return conflict({ code: 'BACKEND_CLONED', message, env: row.env });
  }
  if (row.state !== 'offline') return retired(row.env);
  const message = `the backend ${id} is offline; force: true retires it nevertheless`;
  return conflict({ code: 'BACKEND_OFFLINE', message, env: row.env });
}

/** The error for an action on a retired backend. */
export function retired(env: string) {
  return conflict({ code: 'BACKEND_RETIRED', message: 'the backend is retired, or about to be', env });
}
