import { join } from 'node:path';
import { diskFault, isENOENT } from '../../core/errors.rules.ts';
import { removeDurably, renameDurably, writeDurably } from './durableFiles.ts';
import { readdir, readdirIfExists, readText, readTextIfExists, statIfExists } from './fileSystem.ts';
import { type HistoryEntry, parseHistory, withEntry } from './history.rules.ts';
import { emptyState, type InvalidState, isInvalidState, parseState, type State } from './state.rules.ts';

/** Location of the state file, and its callbacks. */
interface StateFileOptions {
  stateDir: string;
  env: string;
  /** Logs one line for the operator. */
  warn: (line: string) => void;
  /** The state that can be derived again from `current` and the engine. */
  rebuild: () => Promise<Partial<State>>;
}

/** The state of the agent between ticks. */
export type StateStore = Pick<StateFile, 'state' | 'isUnknown' | 'load' | 'update'>;

/**
 * `state.json`. There is one writer, which holds the lock. Updates are written one after the other.
 *
 * - An invalid file is kept as a copy, never overwritten; the newest five copies stay.
 * - History is never lost silently: a new state starts empty only when there is no release either.
 * - When a host changes its env, the state of the other env is parked and restored when the host changes back.
 */
export class StateFile {
  readonly #options: StateFileOptions;
  readonly #path: string;
  #state: State;
  #written = '';
  #isUnknown = false;
  #lastUpdate: Promise<void> = Promise.resolve();

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.#path = join(options.stateDir, 'state.json');
    this.#state = emptyState(options.env);
  }

  /** The state as of the last load or update. */
  get state(): Readonly<State> {
    return this.#state;
  }

  /** True when the file could not be read: then `state` must not be used for decisions nor written over the file. */
  get isUnknown(): boolean {
    return this.#isUnknown;
  }

  /**
   * Reads the file; an invalid one is kept as a copy and rebuilt. Throws `DISK_WRITE_FAILED`, and read errors of the
   * disk.
   */
  async load(): Promise<Readonly<State>> {
    this.#isUnknown = true;
    const found = (await this.#readOwnEnv()) ?? (await this.#restoreParked());
    if (found === null) {
      if (await this.#hasHistory()) {
        this.#options.warn('STATE_CORRUPT: state.json is missing although releases exist; rebuilt from the releases');
        await this.update(await this.#options.rebuild());
      }
    } else if (isInvalidState(found)) {
      await this.#replaceInvalid(found.fault);
    } else {
      this.#state = found;
      this.#written = formatState(found);
    }
    this.#isUnknown = false;
    return this.#state;
  }

  /**
   * Merges `patch` and writes the file durably, unless nothing changed. Throws `DISK_WRITE_FAILED`, and then nothing
   * has changed.
   */
  update(patch: Partial<State>): Promise<void> {
    const update = this.#lastUpdate.then(() => this.#write(patch));
    this.#lastUpdate = update.catch(() => undefined);
    return update;
  }

  async #write(patch: Partial<State>): Promise<void> {
    const next = { ...this.#state, ...patch };
    const text = formatState(next);
    if (text !== this.#written) await writeDurably(this.#path, text, 0o600);
    this.#state = next;
    this.#written = text;
  }

  async #hasHistory(): Promise<boolean> {
    const home = join(this.#options.stateDir, this.#options.env);
    const releases = await readdirIfExists(join(home, 'releases'));
    return releases.length > 0 || (await statIfExists(join(home, 'current'))) !== null;
  }

  /** The state file of this environment; the file of another environment is parked under that environment's name. */
  async #readOwnEnv(): Promise<State | InvalidState | null> {
    const found = await readState(this.#options.stateDir);
    if (found === null || isInvalidState(found) || found.env === this.#options.env) return found;
    await renameDurably(this.#path, `${this.#path}.env-${found.env}`);
    this.#options.warn(`state.json belongs to environment ${found.env}; kept as state.json.env-${found.env}`);
    return null;
  }

  async #restoreParked(): Promise<State | InvalidState | null> {
    const parked = `${this.#path}.env-${this.#options.env}`;
    if ((await statIfExists(parked)) === null) return null;
    await renameDurably(parked, this.#path);
    return readState(this.#options.stateDir);
  }

  /** Rebuilds first: after a crash before the new file is written, the old one is still in place. */
  async #replaceInvalid(reason: string): Promise<void> {
    const rebuilt = await this.#options.rebuild();
    const copy = `state.json.corrupt-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#path, join(this.#options.stateDir, copy));
    this.#options.warn(`STATE_CORRUPT: ${reason}; kept as ${copy}`);
    await this.update(rebuilt);
    await this.#removeOldCopies();
  }

  async #removeOldCopies(): Promise<void> {
    const names = (await readdir(this.#options.stateDir)).filter((name) => name.startsWith('state.json.corrupt-'));
    for (const name of names.toSorted().slice(0, -maxCorruptCopies))
      await removeDurably(join(this.#options.stateDir, name));
  }
}

/**
 * Reads the state file without changes; null when it is absent, an InvalidState for invalid content. Throws any other
 * error of the disk, because an unreadable file may be intact.
 */
export async function readState(stateDir: string): Promise<State | InvalidState | null> {
  const path = join(stateDir, 'state.json');
  const text = await readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
  return text === null ? null : parseState(text);
}

/** Enough for diagnosis without filling the disk. */
const maxCorruptCopies = 5;

function formatState(state: State): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

/** The kept entries, newest first. Throws a fault of the disk. */
export async function readHistory(stateDir: string): Promise<HistoryEntry[]> {
  return parseHistory(await readHistoryText(stateDir));
}

/**
 * Adds an entry and drops the oldest beyond the limit. If two are added at the very same time, only the last may be
 * kept. Throws a fault of the disk.
 */
export async function addToHistory(stateDir: string, entry: HistoryEntry): Promise<void> {
  await writeDurably(pathIn(stateDir), withEntry(await readHistoryText(stateDir), entry), 0o600);
}

async function readHistoryText(stateDir: string): Promise<string> {
  return (await readTextIfExists(pathIn(stateDir))) ?? '';
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'history.jsonl');
}
