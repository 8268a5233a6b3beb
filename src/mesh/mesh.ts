import { addAbortSignal, type Duplex } from 'node:stream';
import { openChannel } from './channel.ts';
import { openSession, type ControllerSession } from './controller.ts';
import { dial } from './dial.ts';
import { readIdentity, type Identity } from './identity.ts';
import type { Target } from './intercept.ts';
import { createRest, type Rest } from './rest.ts';
import { MeshTrouble } from './trouble.ts';

export type { Target } from './intercept.ts';
export { MeshTrouble, type TroubleKind } from './trouble.ts';

/** An OpenZiti network, as a client that only dials sees it. */
export interface Mesh {
  /** A connection to the service that the target means; throws nothing but a MeshTrouble. */
  dial: (target: Target, signal: AbortSignal) => Promise<Duplex>;
  /** Ends its dials and connections and logs out, for two seconds at most; the next dial logs in again. Never throws. */
  close: () => Promise<void>;
}

interface MeshParts {
  identityFile: string;
  /** Bound of each call to a controller, and of a dial with all that it takes. */
  timeoutMs: number;
}

/** Nothing is read and nobody is asked before the first dial; one login serves all of them until `close`. */
export function createMesh({ identityFile, timeoutMs }: MeshParts): Mesh {
  let life = new AbortController();
  let login: Promise<Login> | null = null;
  const forget = (mine: Promise<Login>): void => {
    if (login === mine) login = null;
  };
  const begin = (): Promise<Login> => {
    const mine = logIn(identityFile, { timeoutMs, signal: life.signal });
    mine.catch(() => forget(mine));
    return mine;
  };
  const dialWith = async (target: Target, signal: AbortSignal): Promise<Duplex> => {
    const { signal: end } = life;
    const mine = (login ??= begin());
    try {
      const limit = AbortSignal.any([signal, end, AbortSignal.timeout(timeoutMs)]);
      return addAbortSignal(end, await dialOnce(mine, target, limit));
    } catch (error) {
      if (isStale(error)) forget(mine);
      throw error;
    }
  };
  return {
    dial: (target, signal) =>
      dialWith(target, signal).catch((error: unknown) => {
        if (!isStale(error)) throw error;
        return dialWith(target, signal).catch(tellStale);
      }),
    close: async () => {
      const mine = login;
      login = null;
      life.abort();
      life = new AbortController();
      await mine?.then(logOut, () => undefined);
    },
  };
}

interface Login {
  identity: Identity;
  rest: Rest;
  session: ControllerSession;
}

function isStale(error: unknown): error is MeshTrouble {
  return error instanceof MeshTrouble && error.kind === 'stale';
}

/** A second time it is the network that has no session for us. */
function tellStale(error: unknown): never {
  throw isStale(error) ? new MeshTrouble('unreachable', error.message) : error;
}

async function logIn(identityFile: string, bounds: { timeoutMs: number; signal: AbortSignal }): Promise<Login> {
  const identity = await readIdentity(identityFile);
  const rest = createRest(identity, bounds);
  try {
    return { identity, rest, session: await openSession(rest, identity.controllers) };
  } catch (error) {
    rest.close();
    throw error;
  }
}

async function logOut({ rest, session }: Login): Promise<void> {
  await session.logout().catch(() => undefined);
  rest.close();
}

async function dialOnce(login: Promise<Login>, target: Target, signal: AbortSignal): Promise<Duplex> {
  const { identity, apiToken, service, token, routers } = await unlessOver(planOf(login, target), signal);
  const channel = await openChannel(routers, { identity, token: apiToken, signal });
  return dial(channel, { target, service: service.name, encrypted: service.encrypted, token, signal });
}

/** All that only controllers know; the login is shared, so a dial that is given up does not end it. */
async function planOf(login: Promise<Login>, target: Target) {
  const { identity, session } = await login;
  const service = await session.find(target);
  return { identity, apiToken: session.token, service, ...(await session.dialable(service)) };
}

function unlessOver<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new MeshTrouble('unreachable', 'the controller gave no answer in time'));
    if (signal.aborted) over();
    else signal.addEventListener('abort', over, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', over));
  });
}
