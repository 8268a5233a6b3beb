import { visibleTopics, type Change } from '../rules/changeTopics.ts';
import { currentPermissions } from './currentPermissions.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operator } from './operator.ts';

/** Milliseconds after which a caller hears that the stream still goes on. */
const HEARTBEAT_MS = 15_000;

/**
 * Follows what changes, as text of server-sent events: at most one event a second, with the topics that the caller may look at,
 * and comments in between. Ends with the token or session of the caller, with the signal, and with the service. Throws where the
 * store cannot be read.
 */
export async function openChangeStream(
  deps: Dependencies,
  { operator, signal }: { operator: Operator; signal: AbortSignal },
): Promise<AsyncIterable<string>> {
  const end = AbortSignal.any([signal, deps.changes.ended]);
  const pending = new PendingChanges(end);
  const stop = await deps.changes.listen((changes) => pending.add(changes));
  // What is answered is perhaps never read.
  if (end.aborted) stop();
  else end.addEventListener('abort', stop, { once: true });
  return streamOf(deps, operator, pending);
}

async function* streamOf(deps: Dependencies, operator: Operator, pending: PendingChanges): AsyncGenerator<string> {
  yield ': changes are told from now on\n\n';
  while (await pending.wait()) {
    const permissions = await currentPermissions(deps, operator);
    if (permissions === null) return;
    const topics = visibleTopics(permissions, pending.take());
    yield topics.length === 0 ? ':\n\n' : `event: change\ndata: ${JSON.stringify({ topics })}\n\n`;
  }
}

/** Changes that a caller has not been told yet, each kept once however slowly it reads. */
class PendingChanges {
  readonly #signal: AbortSignal;
  readonly #changes = new Map<string, Change>();
  #wake = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  add(changes: readonly Change[]): void {
    for (const change of changes) this.#changes.set(JSON.stringify(change), change);
    this.#wake();
  }

  take(): Change[] {
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    return changes;
  }

  /** Waits for changes, or for the time of a heartbeat; false at the end. */
  async wait(): Promise<boolean> {
    if (this.#changes.size === 0 && !this.#signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, HEARTBEAT_MS);
      this.#wake = resolve;
      await promise;
      clearTimeout(timer);
    }
    return !this.#signal.aborted;
  }
}
