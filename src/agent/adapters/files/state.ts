import { join } from 'node:path';
import { emptyState, isFault, parseState, type State, type StateFault } from '../../rules/state/state.ts';
import { readdir, readText } from './atOnce.ts';
import { diskFault, isENOENT, removeDurably, renameDurably, writeDurably } from './files.ts';
import { namesIfThere, statsIfThere } from './ifThere.ts';

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
  #isUnknown = false;

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.#path = join(options.stateDir, 'state.json');
    this.#state = emptyState(options.env);
  }

  /** The state as of the last load or update. */
  get state(): Readonly<State> {
    return this.#state;
  }

  /** True while the file could not be read: `state` is then no ground to decide on, and must not be written over the file. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /**
   * Reads the file; a text that is no state is set aside and rebuilt. Throws `DISK_WRITE_FAILED`, and what the disk says to
   * reading.
   */
  async load(): Promise<Readonly<State>> {
    this.#isUnknown = true;
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
    this.#isUnknown = false;
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
    const releases = await namesIfThere(join(home, 'releases'));
    return releases.length > 0 || (await statsIfThere(join(home, 'current'))) !== null;
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
    if ((await statsIfThere(parked)) === null) return null;
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

/**
 * The state file as it lies there; null when there is none, a StateFault for a text that is no state. Changes nothing. Throws
 * what the disk says otherwise: a file that cannot be read now may be as good as ever.
 */
export async function readState(stateDir: string): Promise<State | StateFault | null> {
  const path = join(stateDir, 'state.json');
  const text = await readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
  return text === null ? null : parseState(text);
}

/** Enough to see what happened, few enough to fill no disk. */
const keptCorrupt = 5;

function serialised(state: State): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}
