import type { BackendState } from '../../../machines/backend.ts';
import type { AuditRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { listActiveRollouts } from '../store/rollouts.ts';
import { type Change, type ChangeMarks, changesBetween } from './changes.rules.ts';

/** Milliseconds between two looks at the store. */
const LOOK_EVERY_MS = 1000;
/** More acts than are made between two looks, by all instances. */
const ENTRIES_PER_LOOK = 200;

/** Takes what has changed since the time before. */
type ChangeListener = (changes: readonly Change[]) => void;

/**
 * Tells listeners what changes in the store, whichever instance changes it.
 * - The store is looked at once a second for all listeners together, and not at all without one.
 * - A listener is told of everything that changes after `listen` has resolved.
 * - A look that fails is made up for by the next one.
 */
export class ChangeFeed {
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<ChangeListener>();
  readonly #end = new AbortController();
  /** The marks of the newest look; null when nobody listens. */
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

  /** Begins to tell a listener; the returned function ends that. Throws where the store cannot be read. */
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
    // The listeners that it was for are gone.
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

/** The newest `limit` entries of the audit log, newest first, as far as they tell what was changed. */
function newestEntries(store: Store, limit: number): Promise<Pick<AuditRow, 'id' | 'act' | 'env' | 'result'>[]> {
  return store.selectFrom('audit').select(['id', 'act', 'env', 'result']).orderBy('id', 'desc').limit(limit).execute();
}

/**
 * A text that differs after each check-in, report and heartbeat, when a host becomes silent, and after each try of a step of a
 * retirement: the ends of indexes, whatever the number of hosts, and the number of the few steps that are pending.
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

/** Rollouts that are not over, each with a text that differs when it goes on, and when the webhook of its gate has answered. */
async function rolloutMarks(store: Store): Promise<{ id: string; env: string; mark: string }[]> {
  const rows = await listActiveRollouts(store, null);
  return rows.map(({ id, env, state, started, progress, gate_reason }) => ({
    ...{ id, env },
    mark: JSON.stringify([state, started, progress, gate_reason]),
  }));
}
