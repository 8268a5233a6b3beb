import type { Duplex } from 'node:stream';
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
  /** Logs out; the next dial logs in again. Never throws. */
  close: () => Promise<void>;
}

interface MeshParts {
  identityFile: string;
  /** Bound of each call to a controller, of connecting to a router and of a dial. */
  timeoutMs: number;
}

/** Nothing is read and nobody is asked before the first dial; one login serves all of them until `close`. */
export function createMesh({ identityFile, timeoutMs }: MeshParts): Mesh {
  let login: Promise<Login> | null = null;
  const dialWith = async (target: Target, signal: AbortSignal): Promise<Duplex> => {
    const mine = (login ??= logIn(identityFile, timeoutMs));
    try {
      return await dialOnce(await mine, target, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    } catch (error) {
      if (login === mine && (isStale(error) || (await hasFailed(mine)))) login = null;
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

function hasFailed(login: Promise<Login>): Promise<boolean> {
  return login.then(
    () => false,
    () => true,
  );
}

/** A second time it is the network that has no session for us. */
function tellStale(error: unknown): never {
  throw isStale(error) ? new MeshTrouble('unreachable', error.message) : error;
}

async function logIn(identityFile: string, timeoutMs: number): Promise<Login> {
  const identity = await readIdentity(identityFile);
  const rest = createRest(identity, timeoutMs);
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

async function dialOnce({ identity, session }: Login, target: Target, signal: AbortSignal): Promise<Duplex> {
  const service = await session.find(target);
  const { token, routers } = await session.dialable(service);
  const channel = await openChannel(routers, { identity, token: session.token, signal });
  return dial(channel, { target, service: service.name, encrypted: service.encrypted, token, signal });
}
