import type { BackendState } from '../../../machines/backend.ts';
import type { AuditRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { listActiveRollouts } from '../store/rollouts.ts';
import { forbiddenReason, type Permission } from './permission.rules.ts';

/** Milliseconds between two polls of the store. */
const LOOK_EVERY_MS = 1000;
/** More than the actions of all instances between two polls. */
const ENTRIES_PER_LOOK = 200;

/** Receives the changes since the previous call. */
type ChangeListener = (changes: readonly Change[]) => void;

/**
 * Notifies listeners of changes in the store by any instance.
 * - The store is polled once a second for all listeners together, and not at all without listeners.
 * - A listener receives every change after `listen` has resolved.
 * - The poll after a failed one reports its changes too.
 */
export class ChangeFeed {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ChangeListener>();
  readonly #end = new AbortController();
  /** The marks of the newest poll; null without listeners. */
  #marks: Promise<ChangeMarks> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor({ store, onError }: { store: Store; onError: (error: unknown) => void }) {
    this.#store = store;
    this.#onError = onError;
  }

  /** Aborted when the feed ends. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Starts to notify a listener; the returned function stops it. Throws if the store cannot be read. */
  async listen(listener: ChangeListener): Promise<() => void> {
    this.#listeners.add(listener);
    const stop = () => this.#remove(listener);
    try {
      this.#marks ??= this.#begin();
      await this.#marks;
      return stop;
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** Ends the feed for all listeners. */
  end(): void {
    this.#end.abort();
    for (const listener of this.#listeners) this.#remove(listener);
  }

  #begin(): Promise<ChangeMarks> {
    this.#lookLater();
    return this.#look();
  }

  #remove(listener: ChangeListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearTimeout(this.#timer);
    this.#marks = null;
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => void this.#lookAgain(), LOOK_EVERY_MS);
  }

  async #lookAgain(): Promise<void> {
    const marks = this.#marks;
    const looks = await Promise.all([marks, this.#look()]).catch((error: unknown) => {
      this.#onError(error);
      return null;
    });
    // The listeners of this poll are gone.
    if (marks === null || this.#marks !== marks) return;
    const [before, after] = looks ?? [];
    if (before && after) this.#tell(before, after);
    this.#lookLater();
  }

  #tell(before: ChangeMarks, after: ChangeMarks): void {
    this.#marks = Promise.resolve(after);
    const changes = changesBetween(before, after);
    if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }

  async #look(): Promise<ChangeMarks> {
    const [entries, hosts, rollouts] = await Promise.all([
      newestEntries(this.#store, ENTRIES_PER_LOOK),
      hostMark(this.#store),
      rolloutMarks(this.#store),
    ]);
    return { entries, hosts, rollouts };
  }
}

/** The newest `limit` entries of the audit log, newest first, reduced to the fields that identify a change. */
function newestEntries(store: Store, limit: number): Promise<Pick<AuditRow, 'id' | 'act' | 'env' | 'result'>[]> {
  return store.selectFrom('audit').select(['id', 'act', 'env', 'result']).orderBy('id', 'desc').limit(limit).execute();
}

/**
 * A text that differs after each check-in, report, heartbeat or retirement step, and when a host becomes silent. It
 * reads only the ends of indexes, whatever the number of hosts, and the few pending steps.
 */
async function hostMark(store: Store): Promise<string> {
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

/** Active rollouts, each with a text that differs when it advances and when its gate's webhook has answered. */
async function rolloutMarks(store: Store): Promise<{ id: string; env: string; mark: string }[]> {
  const rows = await listActiveRollouts(store, null);
  return rows.map(({ id, env, state, started, progress, gate_reason }) => ({
    ...{ id, env },
    mark: JSON.stringify([state, started, progress, gate_reason]),
  }));
}

/** Marks that show changes in the store since an earlier time. */
interface ChangeMarks {
  /** The newest entries of the audit log, newest first. */
  entries: readonly Pick<AuditRow, 'id' | 'act' | 'env' | 'result'>[];
  /** Differs after each check-in, report and retirement step, and when a host becomes silent. */
  hosts: string;
  /** Active rollouts; `mark` differs when they advance. */
  rollouts: readonly { id: string; env: string; mark: string }[];
}

/** The changes between two times. */
function changesBetween(before: ChangeMarks, after: ChangeMarks): Change[] {
  const hosts: Change[] = before.hosts === after.hosts ? [] : [{ topic: 'backends', env: { any: true } }];
  return [...changesOfLog(before.entries, after.entries), ...hosts, ...changesOfRollouts(before, after)];
}

/** Entries of concurrent instances may become visible in another order than their ids. */
function changesOfLog(before: ChangeMarks['entries'], after: ChangeMarks['entries']): Change[] {
  const known = new Set(before.map(({ id }) => id));
  // The entries in between are unknown.
  if (before.length > 0 && !after.some(({ id }) => known.has(id))) {
    return topics.map((topic) => ({ topic, env: { any: true } }));
  }
  const oldest = before.at(-1)?.id ?? 0;
  return after.filter(({ id }) => id > oldest && !known.has(id)).flatMap(changesOfEntry);
}

function changesOfRollouts({ rollouts: before }: ChangeMarks, { rollouts: after }: ChangeMarks): Change[] {
  const marks = new Map(before.map(({ id, mark }) => [id, mark]));
  return after.flatMap(({ id, env, mark }) => (marks.get(id) === mark ? [] : [{ topic: 'rollouts' as const, env }]));
}

/** The topics that a client reloads after a change. */
export const topics = ['backends', 'bundles', 'envs', 'rollouts', 'secrets', 'people', 'webhooks', 'audit'] as const;
type Topic = (typeof topics)[number];

/** A change in an environment, in none (null), or in an unknown one (`any`). */
export interface Change {
  topic: Topic;
  env: string | null | { any: true };
}

/** The topics that an action changes, by the first word of its name. */
const topicsOfActs: Record<string, readonly Topic[]> = {
  backend: ['backends'],
  bundle: ['bundles', 'envs'],
  env: ['envs', 'backends'],
  operator: ['people'],
  rollout: ['rollouts', 'envs', 'backends'],
  secret: ['secrets'],
  service: ['people'],
  session: ['people'],
  signature: ['bundles', 'envs'],
  webhook: ['webhooks'],
};

/** The changes that an audit entry shows. A refused or started action changes only the audit log. */
function changesOfEntry({ act, env, result }: Pick<AuditRow, 'act' | 'env' | 'result'>): Change[] {
  const changed = result === 'ok' ? (topicsOfActs[act.split('.', 1)[0] ?? ''] ?? []) : [];
  return [...changed, 'audit' as const].map((topic) => ({ topic, env }));
}

/** The topics of changes that a caller may see, in the order of `topics`. */
export function visibleTopics(permissions: readonly Permission[], changes: readonly Change[]): Topic[] {
  const visible = new Set(changes.filter((change) => isVisible(permissions, change)).map(({ topic }) => topic));
  return topics.filter((topic) => visible.has(topic));
}

function isVisible(permissions: readonly Permission[], { topic, env }: Change): boolean {
  const role = topic === 'audit' || topic === 'people' ? 'admin' : 'viewer';
  const needed = env === null ? ({ every: true } as const) : typeof env === 'string' ? env : null;
  return forbiddenReason(permissions, { role, env: needed }) === null;
}
