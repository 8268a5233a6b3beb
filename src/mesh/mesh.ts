import { addAbortSignal, type Duplex } from 'node:stream';
import { orderRouters, routerKey, type Target } from './choice.rules.ts';
import type { DialSession } from './controllerSession.ts';
import { Knowledge, type Login, Logins, type MeshOptions } from './controllerLogin.ts';
import { abortable, firstSuccess } from './staggeredRace.ts';
import { dialThroughRouters } from './dial.ts';
import { MeshError, type MeshErrorKind } from './meshError.ts';

export { extendCertificate } from './certificateExtension.ts';
export { readIdentity } from './identity.ts';
export type { Target } from './choice.rules.ts';
export type { MeshOptions, MeshStore } from './controllerLogin.ts';
export { MeshError, type MeshErrorKind } from './meshError.ts';

/** A client for an OpenZiti network that only dials. */
export interface Mesh {
  /** A connection to the service for the target; throws only MeshErrors. */
  dial: (target: Target, signal: AbortSignal) => Promise<Duplex>;
  /** Ends dials and connections and logs out, within two seconds; the next dial logs in again. Never throws. */
  close: () => Promise<void>;
}

/** Reads and sends nothing before the first dial; one login serves all dials until `close`. */
export function createMesh(options: MeshOptions): Mesh {
  const knowledge = new Knowledge(options);
  let logins = new Logins(options, knowledge);
  return {
    dial: (target, signal) => dialWithRetry(logins, { target, timeoutMs: options.timeoutMs, signal }),
    close: () => {
      const closing = logins;
      logins = new Logins(options, knowledge);
      return closing.close();
    },
  };
}

/** Target of a dial, and the bounds of everything that it does. */
interface DialOptions {
  target: Target;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Progress of one attempt. */
interface DialAttempt {
  loginPromise: Promise<Login>;
  login: Login | null;
  dialSession: Promise<DialSession> | null;
  hasRouters: boolean;
  /** Why the attempt failed; null while it runs. */
  error: unknown;
}

/** Errors that no other controller or router would answer differently. */
const finalKinds: MeshErrorKind[] = ['identity', 'refused', 'unsupported', 'notGranted', 'noTerminator'];

/** Two attempts: the second starts when the first fails, or at half time, and renews what the first one lacked. */
async function dialWithRetry(logins: Logins, { target, timeoutMs, signal }: DialOptions): Promise<Duplex> {
  const limit = AbortSignal.any([signal, logins.closeSignal, AbortSignal.timeout(timeoutMs)]);
  const staggerMs = timeoutMs / 2;
  let last: DialAttempt | null = null;
  const attempt = async (end: AbortSignal): Promise<Duplex> => {
    if (last !== null) discardFailed(logins, last);
    const loginPromise = logins.current();
    const progress: DialAttempt = (last = {
      loginPromise,
      login: null,
      dialSession: null,
      hasRouters: false,
      error: null,
    });
    return dialOnce(logins.knowledge, progress, { target, timeoutMs: staggerMs, signal: end }).catch(
      (error: unknown) => {
        const isSuperseded = end.aborted && !limit.aborted;
        progress.error = error;
        if (!isSuperseded) discardFailed(logins, progress);
        throw error;
      },
    );
  };
  try {
    const discardLate = (late: Duplex) => void late.destroy();
    return addAbortSignal(
      logins.closeSignal,
      await firstSuccess([attempt, attempt], { staggerMs, finalKinds, signal: limit, discardLate }),
    );
  } catch (error) {
    throw isSessionOver(error) ? new MeshError('unreachable', error.message) : error;
  }
}

const NO_ANSWER = 'the controller gave no answer in time';

async function dialOnce(
  knowledge: Knowledge,
  progress: DialAttempt,
  { target, timeoutMs: timeMs, signal }: DialOptions,
): Promise<Duplex> {
  const login = (progress.login = await abortable(progress.loginPromise, signal, NO_ANSWER));
  const release = login.retain();
  try {
    const { identity, session, token: apiToken } = login;
    const service = session.findService(target);
    progress.dialSession = session.dialSessionFor(service);
    const { token, routers } = await abortable(progress.dialSession, signal, NO_ANSWER);
    progress.hasRouters = true;
    const dialRequest = { target, service: service.name, encrypted: service.encrypted, token };
    const connection = await dialThroughRouters({
      routers: orderRouters(routers, knowledge.routers, Math.random()),
      identity,
      apiToken,
      dialRequest,
      timeMs,
      signal,
      onTried: (router, isGood) => void knowledge.noteRouter(routerKey(router), isGood),
    });
    login.keepAlive(connection, apiToken);
    return connection.once('close', release);
  } catch (error) {
    release();
    throw error;
  }
}

/** True when a session has ended, by an answer or presumably. */
function isSessionOver(error: unknown): error is MeshError {
  return error instanceof MeshError && (error.kind === 'stale' || error.kind === 'channelClosed');
}

/**
 * Discards a login whose session has ended or whose controller does not respond, and a dial session that failed. While
 * routers do not respond to a dial, its session may have ended: a router looks for an unknown session for five seconds
 * before it closes the channel.
 */
function discardFailed(logins: Logins, { loginPromise, login, dialSession, hasRouters, error }: DialAttempt): void {
  if (error instanceof MeshError && finalKinds.includes(error.kind)) return;
  if (isSessionOver(error) || (error === null && hasRouters)) logins.discard(loginPromise);
  else if (login !== null && !hasRouters) logins.discard(loginPromise, login);
  if (dialSession !== null) login?.session.discardDialSession(dialSession);
}
