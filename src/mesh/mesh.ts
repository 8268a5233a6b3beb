import { addAbortSignal, type Duplex } from 'node:stream';
import type { DialSession } from './controller.ts';
import type { Target } from './intercept.ts';
import type { Login } from './login.ts';
import { Logins, type LoginParts } from './logins.ts';
import { firstOf } from './race.ts';
import { connectThrough } from './route.ts';
import { MeshTrouble, type TroubleKind } from './trouble.ts';

export type { Target } from './intercept.ts';
export { MeshTrouble, type TroubleKind } from './trouble.ts';

/** An OpenZiti network, as a client that only dials sees it. */
export interface Mesh {
  /** A connection to the service that the target means; throws nothing but a MeshTrouble. */
  dial: (target: Target, signal: AbortSignal) => Promise<Duplex>;
  /** Ends its dials and connections and logs out, for two seconds at most; the next dial logs in again. Never throws. */
  close: () => Promise<void>;
}

/** Nothing is read and nobody is asked before the first dial; a login serves all dials until `close`. */
export function createMesh(parts: LoginParts): Mesh {
  let logins = new Logins(parts);
  return {
    dial: (target, signal) => dialIn(logins, { target, timeoutMs: parts.timeoutMs, signal }),
    close: () => {
      const ended = logins;
      logins = new Logins(parts);
      return ended.close();
    },
  };
}

/** What a dial is bounded by, with all that it takes: milliseconds, and the signal. */
interface Wish {
  target: Target;
  timeoutMs: number;
  signal: AbortSignal;
}

/** How far a try has come. */
interface Try {
  mine: Promise<Login>;
  login: Login | null;
  permit: Promise<DialSession> | null;
  hasRouters: boolean;
  /** What it failed by; null as long as it goes on. */
  trouble: unknown;
}

/** Nobody else knows better. */
const final: TroubleKind[] = ['identity', 'refused', 'unsupported', 'notGranted', 'noTerminator'];

/** Two tries: the second one begins when the first has failed, or at half time, with what the first one lacked made anew. */
async function dialIn(logins: Logins, { target, timeoutMs, signal }: Wish): Promise<Duplex> {
  const limit = AbortSignal.any([signal, logins.end, AbortSignal.timeout(timeoutMs)]);
  const everyMs = timeoutMs / 2;
  let last: Try | null = null;
  const attempt = async (end: AbortSignal): Promise<Duplex> => {
    if (last !== null) distrust(logins, last);
    const mine = logins.current();
    const tried: Try = (last = { mine, login: null, permit: null, hasRouters: false, trouble: null });
    return dialOnce(tried, { target, timeoutMs: everyMs, signal: end }).catch((error: unknown) => {
      const isBeaten = end.aborted && !limit.aborted;
      tried.trouble = error;
      if (!isBeaten) distrust(logins, tried);
      throw error;
    });
  };
  try {
    const drop = (late: Duplex) => void late.destroy();
    return addAbortSignal(logins.end, await firstOf([attempt, attempt], { everyMs, final, signal: limit, drop }));
  } catch (error) {
    throw isOver(error) ? new MeshTrouble('unreachable', error.message) : error;
  }
}

async function dialOnce(tried: Try, { target, timeoutMs: timeMs, signal }: Wish): Promise<Duplex> {
  const login = (tried.login = await unlessOver(tried.mine, signal));
  const release = login.hold();
  try {
    const { identity, session, token: apiToken } = login;
    const service = session.find(target);
    tried.permit = session.dialable(service);
    const { token, routers } = await unlessOver(tried.permit, signal);
    tried.hasRouters = true;
    const wish = { target, service: service.name, encrypted: service.encrypted, token };
    const connection = await connectThrough({ routers, identity, apiToken, wish, timeMs, signal });
    return connection.once('close', release);
  } catch (error) {
    release();
    throw error;
  }
}

/** Whether a session is over, as somebody said or as it seems. */
function isOver(error: unknown): error is MeshTrouble {
  return error instanceof MeshTrouble && (error.kind === 'stale' || error.kind === 'cut');
}

/** Nobody wants a login whose session is over, or whose controller does not answer, nor a permission that did not do. */
function distrust(logins: Logins, { mine, login, permit, hasRouters, trouble }: Try): void {
  if (trouble instanceof MeshTrouble && final.includes(trouble.kind)) return;
  if (isOver(trouble)) logins.forget(mine);
  else if (login !== null && !hasRouters) logins.forget(mine, login);
  if (permit !== null) login?.session.renounce(permit);
}

function unlessOver<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new MeshTrouble('unreachable', 'the controller gave no answer in time'));
    if (signal.aborted) over();
    else signal.addEventListener('abort', over, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', over));
  });
}
