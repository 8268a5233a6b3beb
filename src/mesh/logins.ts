import { readIdentity } from './identity.ts';
import { logInAt, type Login } from './login.ts';
import { firstOf, type Attempt } from './race.ts';
import { MeshTrouble, type TroubleKind } from './trouble.ts';

/** Whose logins they are. */
export interface LoginParts {
  identityFile: string;
  /** Bound of each call to a controller; the controllers share as much before each of them has been asked. */
  timeoutMs: number;
}

/** What a controller says for all of them. */
const final: TroubleKind[] = ['refused', 'unsupported'];

/** The login that all dials share, and those that were given up; in the end none of them is left. */
export class Logins {
  readonly #parts: LoginParts;
  readonly #life = new AbortController();
  /** Logins under way, those that hold, and log-outs. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #held = new Set<Login>();
  readonly #doubted = new Set<string>();
  #current: Promise<Login> | null = null;

  constructor(parts: LoginParts) {
    this.#parts = parts;
  }

  /** Fires when they are closed. */
  get end(): AbortSignal {
    return this.#life.signal;
  }

  /** The present login; begins one where there is none. */
  current(): Promise<Login> {
    if (this.#current !== null) return this.#current;
    const mine = this.#begin();
    this.#current = mine;
    mine.catch(() => this.forget(mine));
    return mine;
  }

  /** The next to ask begins a new login, at `doubted`'s controller last. */
  forget(login: Promise<Login>, doubted: Login | null = null): void {
    if (doubted !== null) this.#doubted.add(doubted.base.href);
    if (this.#current !== login) return;
    this.#current = null;
    login.then(
      (old) => old.giveUp(),
      () => undefined,
    );
  }

  /** Ends and logs out all of them, in two seconds at most; never throws. */
  async close(): Promise<void> {
    this.#life.abort();
    for (const login of this.#held) void login.end();
    while (this.#open.size > 0) await Promise.allSettled(this.#open);
  }

  async #begin(): Promise<Login> {
    const { identityFile, timeoutMs } = this.#parts;
    const identity = await readIdentity(identityFile);
    if (identity.controllers.length === 0) throw new MeshTrouble('unreachable', 'the identity names no controller');
    const isDoubted = (base: URL) => Number(this.#doubted.has(base.href));
    const bases = identity.controllers.toSorted((one, other) => isDoubted(one) - isDoubted(other));
    const track = (work: Promise<unknown>) => this.#track(work);
    const attempts = bases.map((base): Attempt<Login> => (signal) => {
      const login = logInAt({ identity, base, timeoutMs, signal, track });
      track(login.then((got) => this.#hold(got)));
      return login;
    });
    const everyMs = timeoutMs / (bases.length + 1);
    return firstOf(attempts, { everyMs, final, signal: this.end, drop: (late) => late.giveUp() });
  }

  #hold(login: Login): void {
    if (this.end.aborted) void login.end();
    else this.#held.add(login);
  }

  #track(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.#open.delete(settled));
    this.#open.add(settled);
  }
}
