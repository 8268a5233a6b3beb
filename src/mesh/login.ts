import { logIn, openSession, type ControllerSession, type Grant } from './controller.ts';
import type { Identity } from './identity.ts';
import { createRest, type Rest } from './rest.ts';

/** A login at one controller; it is over once it was given up and nobody holds it any more. */
export class Login {
  readonly identity: Identity;
  /** What routers want to see; a secret. */
  readonly token: string;
  readonly session: ControllerSession;
  /** Where the controller is. */
  readonly base: URL;
  readonly #end: () => Promise<void>;
  #holders = 0;
  #isGivenUp = false;
  #ended: Promise<void> | null = null;

  constructor({ identity, base, session, token, end }: Pick<Login, 'identity' | 'base' | 'session' | 'token' | 'end'>) {
    this.identity = identity;
    this.base = base;
    this.session = session;
    this.token = token;
    this.#end = end;
  }

  /** Keeps it until the function that it gives is called, once. */
  hold(): () => void {
    this.#holders++;
    return () => {
      this.#holders--;
      this.#endIfUnused();
    };
  }

  /** Nobody else will want it. */
  giveUp(): void {
    this.#isGivenUp = true;
    this.#endIfUnused();
  }

  /** Logs out and closes all its sockets, in two seconds at most; never throws. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  #endIfUnused(): void {
    if (this.#isGivenUp && this.#holders === 0) void this.end();
  }
}

/** Where and how somebody logs in. */
export interface Door {
  identity: Identity;
  base: URL;
  timeoutMs: number;
  /** When it fires, nobody wants the login any more: a token that is on its way is given back all the same. */
  signal: AbortSignal;
  /** Hears of what goes on after the login is over. */
  track: (work: Promise<void>) => void;
}

/** Logs in at one controller, and asks it what the identity may dial. */
export async function logInAt(door: Door): Promise<Login> {
  const { identity, base, timeoutMs, signal } = door;
  const rest = createRest(identity, timeoutMs);
  const end = () => rest.end();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    const grant = await logIn(rest, base).catch((error: unknown) => {
      rest.close();
      throw error;
    });
    return await loginBy(door, { rest, grant });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

async function loginBy({ identity, base, track }: Door, { rest, grant }: { rest: Rest; grant: Grant }): Promise<Login> {
  const end = () => {
    const ended = giveBack(rest, grant);
    track(ended);
    return ended;
  };
  try {
    const session = await openSession(rest, base, grant);
    return new Login({ identity, base, session, token: grant.token, end });
  } catch (error) {
    void end();
    throw error;
  }
}

async function giveBack(rest: Rest, grant: Grant): Promise<void> {
  rest.end();
  await grant.logout().catch(() => undefined);
  rest.close();
}
