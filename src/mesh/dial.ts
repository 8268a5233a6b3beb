import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { type Channel, type ChannelOptions, isReplyTo, openChannel, type RouterAddress } from './channel.ts';
import { CONN_ID, MeshConnection } from './connection.ts';
import { contentType, errorCode, type Frame, headerKey, readUint32, uint32 } from './frame.ts';
import type { Target } from './choice.rules.ts';
import { asRecord, asText, parseJson } from '../core/json.rules.ts';
import { MeshError, type MeshErrorKind } from './meshError.ts';
import { createSecretStream, type SecretStream } from './secretStream.ts';
import { type Attempt, firstSuccess } from './staggeredRace.ts';

/** Parameters of a dial; the token belongs to the dial session. */
interface DialRequest {
  target: Target;
  service: string;
  encrypted: boolean;
  token: string;
  signal: AbortSignal;
}

/** Requests a connection to the service from the router; an encrypted one fails when the host sends no key. */
async function dial(channel: Channel, request: DialRequest): Promise<MeshConnection> {
  const secretStream = request.encrypted ? await createSecretStream() : null;
  try {
    const connection = await requestConnection(channel, request, secretStream);
    if (connection.errored !== null) throw connection.errored;
    return connection;
  } catch (error) {
    channel.close();
    throw error;
  }
}

/** The listener of the connection is installed in the answer's callback, because the first data may follow directly. */
function requestConnection(
  channel: Channel,
  request: DialRequest,
  secretStream: SecretStream | null,
): Promise<MeshConnection> {
  const { service, signal } = request;
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new MeshError('unreachable', `service ${service}: no answer to the dial in time`));
    if (signal.aborted) {
      giveUp();
      return;
    }
    signal.addEventListener('abort', giveUp, { once: true });
    let sequence = 0;
    channel.listen({
      onFrame: (answer) => {
        if (!isReplyTo(answer, sequence) && !isClosedState(answer)) return;
        signal.removeEventListener('abort', giveUp);
        const error = checkAnswer(answer, request, secretStream);
        if (error === null) resolve(new MeshConnection(channel, secretStream));
        else reject(error);
      },
      onEnd: (error) => reject(interruptedError(error, service)),
    });
    sequence = channel.send(connectFrame(request, secretStream));
  });
}

/** A router whose session ends closes a connection that is being dialled, with a frame that is not a reply. */
function isClosedState({ type, headers }: Frame): boolean {
  return type === contentType.stateClosed && readUint32(headers.get(headerKey.connId)) === CONN_ID;
}

/** The error in an answer; null when it is a connection, and both sides have their keys. */
function checkAnswer(answer: Frame, request: DialRequest, secretStream: SecretStream | null): MeshError | null {
  if (answer.type !== contentType.stateConnected) return refusalError(answer, request);
  if (secretStream === null) return null;
  const hostKey = answer.headers.get(headerKey.publicKey);
  if (hostKey !== undefined) return secretStream.deriveKeys(hostKey);
  return new MeshError('protocol', `service ${request.service} must be encrypted, but its host offers no key`);
}

/** A router that does not know the session closes the channel without an answer, as does a router that dies. */
function interruptedError(error: MeshError, service: string): MeshError {
  if (error.kind !== 'unreachable') return error;
  return new MeshError('channelClosed', `service ${service}: ${error.message} before it was dialled`);
}

function connectFrame({ target: { host, port }, token }: DialRequest, secretStream: SecretStream | null) {
  const name = isIP(host) === 0 ? 'dst_hostname' : 'dst_ip';
  const appData = { dst_protocol: 'tcp', [name]: host, dst_port: String(port) };
  const headers = new Map<number, Buffer>([
    [headerKey.connId, uint32(CONN_ID)],
    [headerKey.seq, uint32(0)],
    [headerKey.connectionMarker, Buffer.from(randomBytes(6).toString('base64url'))],
    [headerKey.appData, Buffer.from(JSON.stringify(appData))],
  ]);
  if (secretStream !== null) headers.set(headerKey.publicKey, secretStream.publicKey);
  return { type: contentType.connect, headers, body: Buffer.from(token) };
}

/** A JWT or a UUID: session tokens, which a router might repeat. */
const tokenLike = /eyJ[\w-]+\.[\w.-]*|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

/** The error for a rejected dial, by its code, or by its text when an older router sends no code. */
function refusalError({ headers, body }: Frame, { service, token }: DialRequest): MeshError {
  const structured = asRecord(parseJson(headers.get(headerKey.structuredError)?.toString() ?? ''));
  const text = asText(structured['message']) || body.toString();
  const reason = text.replaceAll(token, '***').replace(tokenLike, '***').slice(0, 200);
  const message = `service ${service}: ${reason.replace(/[^\x20-\x7e]/g, ' ')}`;
  switch (readUint32(headers.get(headerKey.errorCode))) {
    case errorCode.invalidApiSession:
    case errorCode.invalidSession:
    case errorCode.wrongSessionType:
    case errorCode.routerNotAllowed:
      return new MeshError('stale', message);
    case errorCode.accessDenied:
    case errorCode.invalidService:
      return new MeshError('notGranted', message);
    case errorCode.postureFailed:
      return new MeshError('unsupported', `${message} (a posture check)`);
    case errorCode.invalidTerminator:
      return new MeshError('noTerminator', message);
  }
  if (/terminator/i.test(reason)) return new MeshError('noTerminator', message);
  if (/session|token|identity/i.test(reason)) return new MeshError('stale', message);
  return new MeshError('unreachable', message);
}

/** A dial that may go through any of these routers. */
interface RouterDial extends Omit<ChannelOptions, 'token'> {
  /** In the order in which they are greeted. */
  routers: RouterAddress[];
  /** The token of the login, sent in the hello to routers. */
  apiToken: string;
  dialRequest: Omit<DialRequest, 'signal'>;
  /** Milliseconds for all routers together. */
  timeMs: number;
  /** Receives whether a router that was tried connected the service. */
  onTried: (router: RouterAddress, isGood: boolean) => void;
}

/** Upper bound for the number of time shares, so that with many routers each still has time to respond. */
const maxShares = 20;
/** Routers that are greeted at the same time. */
const maxGreeted = 32;
/** Milliseconds that a router has at least to answer the hello, however many wait. */
const minGreetingMs = 500;

/** Errors that hold for the whole network. */
const finalKinds: MeshErrorKind[] = ['notGranted', 'noTerminator', 'unsupported', 'stale'];

/**
 * A connection through the first router that provides one. Several are greeted at once, the others as soon as one of
 * these has failed or has had its share of the time; dials are staggered.
 */
export async function dialThroughRouters({
  routers,
  identity,
  apiToken,
  dialRequest,
  timeMs,
  signal,
  onTried,
}: RouterDial): Promise<MeshConnection> {
  if (routers.length === 0) {
    throw new MeshError(
      'unreachable',
      `no edge router that service ${dialRequest.service} may be dialled by is online`,
    );
  }
  const settled = new AbortController();
  const limit = AbortSignal.any([signal, settled.signal]);
  const rounds = Math.ceil(routers.length / maxGreeted);
  const shareMs = rounds === 1 ? timeMs : Math.max(minGreetingMs, Math.floor(timeMs / rounds));
  const openings = startInTurn(routers, { shareMs, limit }, async (router, end) => {
    const options = { identity, token: apiToken, signal: AbortSignal.any([limit, end]), timeMs: shareMs };
    const channel = await openChannel(router, options).catch((error: unknown) => {
      if (!limit.aborted) onTried(router, false);
      throw error;
    });
    return { router, channel };
  });
  const used = new Set<Channel>();
  const attempts = inSettlementOrder(openings).map((next): Attempt<MeshConnection> => async (end) => {
    const { router, channel } = await next;
    used.add(channel);
    const connection = await dial(channel, { ...dialRequest, signal: end });
    onTried(router, true);
    return connection;
  });
  const staggerMs = timeMs / Math.min(maxShares, routers.length + 1);
  try {
    return await firstSuccess(attempts, { staggerMs, finalKinds, signal, discardLate: (late) => void late.destroy() });
  } finally {
    settled.abort();
    for (const opening of openings)
      opening.then(
        ({ channel }) => used.has(channel) || channel.close(),
        () => undefined,
      );
  }
}

/**
 * Starts work for each item, for a bounded number at once; the next one starts when one fails or `shareMs` are over, until
 * `limit` aborts.
 */
function startInTurn<I, T>(
  items: readonly I[],
  { shareMs, limit }: { shareMs: number; limit: AbortSignal },
  start: (item: I, end: AbortSignal) => Promise<T>,
): Promise<T>[] {
  const results = items.map((item) => ({ item, ...Promise.withResolvers<T>() }));
  const waiting = [...results];
  const startNext = () => {
    const next = limit.aborted ? undefined : waiting.shift();
    if (next === undefined) return;
    const share = new AbortController();
    const end = () => {
      clearTimeout(timer);
      share.abort();
      startNext();
    };
    const timer = setTimeout(() => waiting.length > 0 && end(), shareMs);
    limit.addEventListener('abort', () => clearTimeout(timer), { once: true });
    start(next.item, share.signal).then(next.resolve, (error: unknown) => {
      next.reject(error);
      if (!share.signal.aborted) end();
    });
  };
  for (let at = 0; at < maxGreeted; at++) startNext();
  return results.map(({ promise }) => promise);
}

/** The promises in the order in which they are fulfilled; rejected ones come last. */
function inSettlementOrder<T>(promises: Promise<T>[]): Promise<T>[] {
  const resolvers: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];
  const ordered = promises.map(() => new Promise<T>((resolve, reject) => resolvers.push({ resolve, reject })));
  let [fulfilled, rejected] = [0, promises.length];
  for (const promise of promises)
    promise.then(
      (value) => resolvers[fulfilled++]?.resolve(value),
      (error: unknown) => resolvers[--rejected]?.reject(error),
    );
  for (const each of ordered) each.catch(() => undefined);
  return ordered;
}
