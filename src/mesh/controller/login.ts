import { logIn, openSession, type ControllerSession, type ApiSession } from './session.ts';
import type { Identity } from '../identity.ts';
import { createControllerClient, type ControllerClient } from './controllerClient.ts';

/** A login at one controller. It logs out once it is retired and no longer retained. */
export class Login {
  readonly identity: Identity;
  /** The token for routers; a secret. */
  readonly token: string;
  readonly session: ControllerSession;
  /** URL of the controller. */
  readonly base: URL;
  readonly #logOutAction: () => Promise<void>;
  #retainCount = 0;
  #isRetired = false;
  #loggingOut: Promise<void> | null = null;

  constructor({
    identity,
    base,
    session,
    token,
    logOut,
  }: Pick<Login, 'identity' | 'base' | 'session' | 'token' | 'logOut'>) {
    this.identity = identity;
    this.base = base;
    this.session = session;
    this.token = token;
    this.#logOutAction = logOut;
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
    return (this.#loggingOut ??= this.#logOutAction());
  }

  #logOutIfUnused(): void {
    if (this.#isRetired && this.#retainCount === 0) void this.logOut();
  }
}

/** Options of a login. */
export interface LoginOptions {
  identity: Identity;
  base: URL;
  timeoutMs: number;
  /** On abort the login is no longer wanted; a token that is being issued is revoked all the same. */
  signal: AbortSignal;
  /** Receives work that continues after the login has ended. */
  track: (work: Promise<void>) => void;
}

/** Logs in at one controller and lists the services that the identity may dial. */
export async function logInAt(options: LoginOptions): Promise<Login> {
  const { identity, base, timeoutMs, signal } = options;
  const client = createControllerClient(identity, timeoutMs);
  const end = () => client.end();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    const apiSession = await logIn(client, base).catch((error: unknown) => {
      client.close();
      throw error;
    });
    return await loginWithSession(options, { client, apiSession });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

async function loginWithSession(
  { identity, base, track }: LoginOptions,
  { client, apiSession }: { client: ControllerClient; apiSession: ApiSession },
): Promise<Login> {
  const logOut = () => {
    const loggedOut = logOutAndClose(client, apiSession);
    track(loggedOut);
    return loggedOut;
  };
  try {
    const session = await openSession(client, base, apiSession);
    return new Login({ identity, base, session, token: apiSession.token, logOut });
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
