import { readIdentity } from '../identity.ts';
import { logInAt, type Login } from './login.ts';
import { firstSuccess, type Attempt } from '../staggeredRace.ts';
import { MeshError, type MeshErrorKind } from '../meshError.ts';

/** Identity and timeout of the logins. */
export interface MeshOptions {
  identityFile: string;
  /** Timeout of each request to a controller, and for starting the attempts at all controllers. */
  timeoutMs: number;
}

/** Errors that hold for all controllers. */
const finalKinds: MeshErrorKind[] = ['refused', 'unsupported'];

/** The current login, shared by all dials, and retired ones; `close` ends all of them. */
export class Logins {
  readonly #options: MeshOptions;
  readonly #closing = new AbortController();
  /** Running logins, active logins, and log-outs. */
  readonly #work = new Set<Promise<unknown>>();
  readonly #active = new Set<Login>();
  readonly #failedUrls = new Set<string>();
  #current: Promise<Login> | null = null;

  constructor(options: MeshOptions) {
    this.#options = options;
  }

  /** Aborts on `close`. */
  get closeSignal(): AbortSignal {
    return this.#closing.signal;
  }

  /** The current login; starts one when there is none. */
  current(): Promise<Login> {
    if (this.#current !== null) return this.#current;
    const started = this.#logIn();
    this.#current = started;
    started.catch(() => this.discard(started));
    return started;
  }

  /** Discards a login: the next dial starts a new one, with the controller of `failed` tried last. */
  discard(login: Promise<Login>, failed: Login | null = null): void {
    if (failed !== null) this.#failedUrls.add(failed.base.href);
    if (this.#current !== login) return;
    this.#current = null;
    login.then(
      (old) => old.retire(),
      () => undefined,
    );
  }

  /** Logs out all of them, within two seconds; never throws. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const login of this.#active) void login.logOut();
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  async #logIn(): Promise<Login> {
    const { identityFile, timeoutMs } = this.#options;
    const identity = await readIdentity(identityFile);
    if (identity.controllers.length === 0) throw new MeshError('unreachable', 'the identity names no controller');
    const hasFailed = (base: URL) => Number(this.#failedUrls.has(base.href));
    const bases = identity.controllers.toSorted((one, other) => hasFailed(one) - hasFailed(other));
    const track = (work: Promise<unknown>) => this.#track(work);
    const attempts = bases.map((base): Attempt<Login> => (signal) => {
      const login = logInAt({ identity, base, timeoutMs, signal, track });
      track(login.then((got) => this.#activate(got)));
      return login;
    });
    const staggerMs = timeoutMs / (bases.length + 1);
    return firstSuccess(attempts, {
      staggerMs,
      finalKinds,
      signal: this.closeSignal,
      discardLate: (late) => late.retire(),
    });
  }

  #activate(login: Login): void {
    if (this.closeSignal.aborted) void login.logOut();
    else this.#active.add(login);
  }

  #track(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.#work.delete(settled));
    this.#work.add(settled);
  }
}
