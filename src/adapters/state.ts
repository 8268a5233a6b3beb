import { join } from 'node:path';
import { emptyState, isFault, parseState, type State, type StateFault } from '../rules/state.ts';
import { lstat, readdir, readText } from './atOnce.ts';
import { isENOENT, removeDurably, renameDurably, writeDurably } from './files.ts';

/** What a state file needs to know and to call. */
export interface StateFileOptions {
  stateDir: string;
  env: string;
  /** Tells the operator one line. */
  warn: (line: string) => void;
  /** What can be found out again from `current` and the engine; the rest stays empty. */
  rebuild: () => Promise<Partial<State>>;
}

/**
 * `state.json`, by one writer that holds the lock and awaits each update.
 *
 * - A file that cannot be used is kept beside, never overwritten; the newest five such files stay.
 * - Nothing is forgotten in silence: a new state begins empty only where there is no release either.
 * - A host that changes its env keeps the other env's state beside and finds it again when it changes back.
 */
export class StateFile {
  readonly #options: StateFileOptions;
  readonly #path: string;
  #state: State;
  #written = '';

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.#path = join(options.stateDir, 'state.json');
    this.#state = emptyState(options.env);
  }

  /** The state as of the last load or update. */
  get state(): Readonly<State> {
    return this.#state;
  }

  /** Reads the file; one that cannot be used is set aside and rebuilt. Throws `DISK_WRITE_FAILED`. */
  async load(): Promise<Readonly<State>> {
    const found = (await this.#readOwn()) ?? (await this.#takeBack());
    if (found === null) {
      if (await this.#hasHistory()) {
        this.#options.warn('STATE_CORRUPT: state.json is missing, but not the releases; rebuilt from what is there');
        await this.update(await this.#options.rebuild());
      }
    } else if (isFault(found)) {
      await this.#replace(found.fault);
    } else {
      this.#state = found;
      this.#written = serialised(found);
    }
    return this.#state;
  }

  /** Merges `patch` and writes the file durably, unless nothing changed. Throws `DISK_WRITE_FAILED`, and nothing changed. */
  async update(patch: Partial<State>): Promise<void> {
    const next = { ...this.#state, ...patch };
    const text = serialised(next);
    if (text !== this.#written) await writeDurably(this.#path, text, 0o600);
    this.#state = next;
    this.#written = text;
  }

  async #hasHistory(): Promise<boolean> {
    const home = join(this.#options.stateDir, this.#options.env);
    const releases = await readdir(join(home, 'releases')).catch(() => []);
    return releases.length > 0 || exists(join(home, 'current'));
  }

  /** The file as it is, unless it belongs to another env: then it is parked under that env's name. */
  async #readOwn(): Promise<State | StateFault | null> {
    const found = await readState(this.#options.stateDir);
    if (found === null || isFault(found) || found.env === this.#options.env) return found;
    await renameDurably(this.#path, `${this.#path}.env-${found.env}`);
    this.#options.warn(`state.json belongs to env ${found.env}; kept as state.json.env-${found.env}`);
    return null;
  }

  async #takeBack(): Promise<State | StateFault | null> {
    const parked = `${this.#path}.env-${this.#options.env}`;
    if (!(await exists(parked))) return null;
    await renameDurably(parked, this.#path);
    return readState(this.#options.stateDir);
  }

  /** What is known is gathered first: a crash before the new file is written finds the old one again. */
  async #replace(reason: string): Promise<void> {
    const known = await this.#options.rebuild();
    const kept = `state.json.corrupt-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#path, join(this.#options.stateDir, kept));
    this.#options.warn(`STATE_CORRUPT: ${reason}; kept as ${kept}`);
    await this.update(known);
    await this.#dropOldest();
  }

  async #dropOldest(): Promise<void> {
    const names = (await readdir(this.#options.stateDir)).filter((name) => name.startsWith('state.json.corrupt-'));
    for (const name of names.toSorted().slice(0, -keptCorrupt)) await removeDurably(join(this.#options.stateDir, name));
  }
}

/** The state file as it lies there; null when there is none. Changes nothing. */
export async function readState(stateDir: string): Promise<State | StateFault | null> {
  try {
    return parseState(await readText(join(stateDir, 'state.json')));
  } catch (error) {
    return isENOENT(error) ? null : { fault: 'state.json cannot be read' };
  }
}

/** Enough to see what happened, few enough to fill no disk. */
const keptCorrupt = 5;

function serialised(state: State): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
