import { judgeLogins, type KnownRouters, memoryOf, type NetworkMemory } from './choice.rules.ts';
import { type ControllerClient, createControllerClient } from './controllerClient.ts';
import type { MeshConnection } from './connection.ts';
import { type ApiSession, type ControllerSession, logIn, openSession } from './controllerSession.ts';
import { type Identity, readIdentity } from './identity.ts';
import { MeshError, type MeshErrorKind } from './meshError.ts';
import { abortable, type Attempt, firstSuccess } from './staggeredRace.ts';

/** Shares of the life of a token: when it is renewed, and the pause after a renewal that failed. */
const [RENEWAL_SHARE, RETRY_SHARE] = [2 / 3, 1 / 30];

/** A login at one controller. It logs out once it is retired and no longer retained. */
export class Login {
  readonly identity: Identity;
  readonly session: ControllerSession;
  /** URL of the controller. */
  readonly base: URL;
  /** Warnings of this login, for operators. */
  readonly warnings: string[];
  readonly #apiSession: ApiSession;
  readonly #logOutAction: () => Promise<void>;
  readonly #connections = new Set<MeshConnection>();
  #renewal: NodeJS.Timeout | undefined;
  #retainCount = 0;
  #isRetired = false;
  #loggingOut: Promise<void> | null = null;

  constructor({
    identity,
    base,
    session,
    apiSession,
    warnings,
    logOut,
  }: Pick<Login, 'identity' | 'base' | 'session' | 'warnings' | 'logOut'> & { apiSession: ApiSession }) {
    this.identity = identity;
    this.base = base;
    this.session = session;
    this.warnings = warnings;
    this.#apiSession = apiSession;
    this.#logOutAction = logOut;
    this.#renewLater(RENEWAL_SHARE);
  }

  /** The token for routers, which changes while the login lasts; a secret. */
  get token(): string {
    return this.#apiSession.token;
  }

  /** Sends later tokens to a connection that was dialled with `token`, until it closes. */
  keepAlive(connection: MeshConnection, token: string): void {
    this.#connections.add(connection);
    connection.once('close', () => this.#connections.delete(connection));
    if (token !== this.token) connection.sendToken(this.token);
  }

  /** Retains the login until the returned function is called, once. */
  retain(): () => void {
    this.#retainCount++;
    return () => {
      this.#retainCount--;
      this.#logOutIfUnused();
    };
  }

  /** Marks the login as unused by new dials. */
  retire(): void {
    this.#isRetired = true;
    this.#logOutIfUnused();
  }

  /** Logs out and closes all sockets, within two seconds; never throws. */
  logOut(): Promise<void> {
    clearTimeout(this.#renewal);
    return (this.#loggingOut ??= this.#logOutAction());
  }

  #renewLater(share: number): void {
    const { lifeMs } = this.#apiSession;
    if (lifeMs === null || this.#loggingOut !== null) return;
    this.#renewal = setTimeout(() => void this.#renew(), lifeMs * share).unref();
  }

  /** Routers may close the connections of a token that ends. A renewal that fails is repeated. */
  async #renew(): Promise<void> {
    const isRenewed = await this.#apiSession.renew().then(
      () => true,
      () => false,
    );
    if (isRenewed) for (const connection of this.#connections) connection.sendToken(this.token);
    this.#renewLater(isRenewed ? RENEWAL_SHARE : RETRY_SHARE);
  }

  #logOutIfUnused(): void {
    if (this.#isRetired && this.#retainCount === 0) void this.logOut();
  }
}

/** Options of a login. */
interface LoginOptions {
  identity: Identity;
  base: URL;
  timeoutMs: number;
  /** After an abort the login is not needed any more; a token that is being issued is still revoked. */
  signal: AbortSignal;
  /** Receives work that continues after the login has ended. */
  track: (work: Promise<void>) => void;
}

/** Logs in at one controller and lists the services that the identity may dial. */
export async function logInAt(options: LoginOptions): Promise<Login> {
  const { identity, base, timeoutMs, signal } = options;
  const warnings: string[] = [];
  const client = createControllerClient(identity, timeoutMs);
  const end = () => client.end();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    const apiSession = await logIn(client, base, (line) => void warnings.push(line)).catch((error: unknown) => {
      client.close();
      throw withClockProblem(error, client);
    });
    return await loginWithSession(options, { client, apiSession, warnings });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** The error of a login, which a clock that is far off may explain. */
function withClockProblem(error: unknown, client: ControllerClient): unknown {
  const problem = client.clockProblem();
  if (problem === '' || !(error instanceof MeshError)) return error;
  return new MeshError(error.kind, `${error.message}; ${problem}`);
}

async function loginWithSession(
  { identity, base, track }: LoginOptions,
  { client, apiSession, warnings }: { client: ControllerClient; apiSession: ApiSession; warnings: string[] },
): Promise<Login> {
  const logOut = () => {
    const loggedOut = logOutAndClose(client, apiSession);
    track(loggedOut);
    return loggedOut;
  };
  try {
    const session = await openSession(client, base, apiSession);
    return new Login({ identity, base, session, apiSession, warnings, logOut });
  } catch (error) {
    void logOut();
    throw error;
  }
}

async function logOutAndClose(client: ControllerClient, apiSession: ApiSession): Promise<void> {
  client.end();
  await apiSession.logout().catch(() => undefined);
  client.close();
}

/** Identity and timeout of the logins. */
export interface MeshOptions {
  identityFile: string;
  /** Timeout of each request to a controller, and for starting the attempts at all controllers. */
  timeoutMs: number;
  /** Receives each warning for operators once. */
  warn?: (line: string) => void;
  /** Keeps what logins find out about the network, as a text. */
  store?: MeshStore;
}

/** Keeps a text, such as a file that only this program writes. */
export interface MeshStore {
  /** Null if nothing is kept. */
  load: () => string | null;
  save: (text: string) => Promise<void>;
}

/** Facts about the network that logins and dials found; they outlive both, and in a store the process too. */
export class Knowledge {
  readonly #options: Pick<MeshOptions, 'warn' | 'store'>;
  readonly #failedRouters = new Set<string>();
  #text: string | null = null;
  #memory: NetworkMemory = memoryOf(null, '');

  constructor(options: Pick<MeshOptions, 'warn' | 'store'>) {
    this.#options = options;
  }

  /** The text of the memory, read once. */
  get text(): string | null {
    return (this.#text ??= this.#options.store?.load() ?? null);
  }

  get routers(): KnownRouters {
    return { good: this.#memory.routers, failed: this.#failedRouters };
  }

  /** Takes over the memory that belongs to an identity. */
  use(memory: NetworkMemory): void {
    this.#memory = memory;
  }

  noteRouter(router: string, isGood: boolean): Promise<void> {
    if (!isGood) this.#failedRouters.add(router);
    else {
      this.#failedRouters.delete(router);
      const { routers } = this.#memory;
      if (!routers.includes(router))
        return this.#remember({ routers: [router, ...routers].slice(0, MAX_GOOD_ROUTERS) });
    }
    return Promise.resolve();
  }

  /** Remembers the answers of a login, and reports its warnings that are new. */
  async noteLogin({ base, session, warnings }: Login): Promise<void> {
    const { warned } = this.#memory;
    const others = warned.filter((line) => !line.includes(base.host));
    for (const line of warnings) if (!warned.includes(line)) this.#options.warn?.(line);
    await this.#remember({ warned: [...others, ...warnings] });
    if (this.#options.store === undefined) return;
    const { controllers, ca } = await session.describeNetwork();
    await this.#remember({
      ...(controllers.length > 0 && { controllers: [base.href, ...controllers.filter((url) => url !== base.href)] }),
      ...(ca.length > 0 && { ca }),
    });
  }

  async #remember(found: Partial<NetworkMemory>): Promise<void> {
    this.#memory = { ...this.#memory, ...found };
    const text = JSON.stringify(this.#memory);
    if (text === this.#text) return;
    this.#text = text;
    await this.#options.store?.save(text).catch(() => undefined);
  }
}

/** The number of routers that are remembered. */
const MAX_GOOD_ROUTERS = 8;

/** Errors that hold for all controllers; a controller that has not joined its cluster refuses every identity. */
const finalKinds: MeshErrorKind[] = ['unsupported'];
/** The share of the time after which a login has failed, so that its error is known before the dial ends. */
const LOGIN_SHARE = 7 / 8;

/** The current login, shared by all dials, and retired ones; `close` ends all of them. */
export class Logins {
  readonly knowledge: Knowledge;
  readonly #options: MeshOptions;
  readonly #closing = new AbortController();
  /** Running logins, active logins, and log-outs. */
  readonly #work = new Set<Promise<unknown>>();
  readonly #active = new Set<Login>();
  readonly #failedUrls = new Set<string>();
  #current: Promise<Login> | null = null;

  constructor(options: MeshOptions, knowledge: Knowledge) {
    this.knowledge = knowledge;
    this.#options = options;
  }

  /** Aborts on `close`. */
  get closeSignal(): AbortSignal {
    return this.#closing.signal;
  }

  /** The current login; starts one if there is none. */
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
    const identity = await readIdentity(identityFile, this.knowledge.text);
    this.knowledge.use(identity.memory);
    if (identity.controllers.length === 0) throw new MeshError('unreachable', 'the identity names no controller');
    const hasFailed = (base: URL) => Number(this.#failedUrls.has(base.href));
    const bases = identity.controllers.toSorted((one, other) => hasFailed(one) - hasFailed(other));
    const track = (work: Promise<unknown>) => this.#track(work);
    const attempts = bases.map((base): Attempt<Login> => (signal) => {
      const login = logInAt({ identity, base, timeoutMs, signal, track });
      track(login.then((late) => this.#activate(late, signal)));
      return abortable(login, signal, `controller ${base.host}: no answer in time`);
    });
    return firstSuccess(attempts, {
      staggerMs: timeoutMs / (bases.length + 1),
      finalKinds,
      signal: AbortSignal.any([this.closeSignal, AbortSignal.timeout(Math.floor(timeoutMs * LOGIN_SHARE))]),
      discardLate: (late) => late.retire(),
      judge: (errors) => {
        const { kind, message } = judgeLogins(errors);
        return new MeshError(kind, message);
      },
    });
  }

  /** A login that succeeds after its attempt has ended is not used. */
  #activate(login: Login, signal: AbortSignal): void {
    if (this.closeSignal.aborted) void login.logOut();
    else this.#active.add(login);
    if (signal.aborted) login.retire();
    else this.#track(this.knowledge.noteLogin(login));
  }

  #track(work: Promise<unknown>): void {
    const settled = work.catch(() => undefined).finally(() => this.#work.delete(settled));
    this.#work.add(settled);
  }
}
