import { createServer as createHttpServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { FastifyServerFactory } from 'fastify';
import { errorBody } from './errors.ts';

/** Certificate chain and key in PEM. */
export interface TlsIdentity {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** Largest head of a request in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** Creates the server below the HTTP interface: with TLS, or plain on loopback. */
export function serverFactory(tls: TlsIdentity | null, limits: HttpLimits): FastifyServerFactory {
  const { headMs, uploadMs, idleMs, stallMs, connections } = limits;
  const options: ServerOptions = {
    headersTimeout: headMs,
    requestTimeout: uploadMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: Math.ceil(headMs / 4),
    maxHeaderSize: MAX_HEAD_BYTES,
  };
  const secure = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout: headMs } as const;
  return (handler) => {
    const server: Server =
      tls === null ? createHttpServer(options) : createHttpsServer({ ...options, ...secure, ...tls });
    server.maxConnections = connections;
    server.timeout = stallMs;
    const idle: IdleConnections = new Set();
    beginConnectionsInTurns(server, headMs, idle);
    server.on('secureConnection', (socket: Socket) => idle.add(socket.once('close', () => idle.delete(socket))));
    server.on('request', beginRequestsInTurns(handler, server, idle));
    // Node also closes connections whose answers are not completely sent.
    server.closeIdleConnections = () => idle.forEach((socket) => socket.destroy());
    return server;
  };
}

/** The connections on which no request is being received or answered. */
type IdleConnections = Set<Socket>;

/**
 * Largest number of requests without an answer on one connection. Agents, browsers and proxies send the next request
 * after the answer. Without a limit, one packet holds hundreds of requests, which the server would begin at once.
 */
const MAX_PIPELINED = 2;

/**
 * Begins requests in turns, and closes a connection that sends too many without waiting for answers. When the server
 * stops, a connection is closed after its last answer.
 */
function beginRequestsInTurns(handler: RequestListener, server: Server, idle: IdleConnections): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  const turns = new Turns(REQUESTS_OF_TURN);
  return (request, response) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > MAX_PIPELINED) {
      // Otherwise the rest of the packet is parsed, too, which takes longer than all else. The parser is not documented.
      (socket as { parser?: { pause?: () => void } | null }).parser?.pause?.();
      return void request.destroy();
    }
    unanswered.set(socket, count);
    idle.delete(socket);
    response.once('close', () => {
      const left = (unanswered.get(socket) ?? 1) - 1;
      unanswered.set(socket, left);
      if (left > 0 || socket.destroyed) return;
      if (server.listening) idle.add(socket);
      else socket.destroySoon();
    });
    // After its packet is parsed, which may hold too many requests.
    process.nextTick(() => socket.destroyed || turns.take(socket, () => handler(request, response)));
  };
}

/** Requests of all connections that begin before the service looks at open connections again. */
const REQUESTS_OF_TURN = 4;

/** An address with more waiting connections than this has a crowd: it pauses after each of them, if others call too. */
const CROWD = 8;
/** Milliseconds. Of thousands of hosts behind one address, which connect at once, a hundred connect each second. */
const CROWD_PAUSE_MS = 8;
/** Milliseconds for which a call of another address counts. A crowd that is alone is not delayed. */
const OTHERS_MS = 1000;

/** Work of one address that waits. */
interface Queue {
  works: { socket: Socket; begin: () => void }[];
  /** In milliseconds of `performance.now()`. */
  notBefore: number;
}

/** Begins work of callers a few at a time, and looks at open connections in between. Addresses take turns. */
class Turns {
  readonly #waiting = new Map<string, Queue>();
  readonly #most: number;
  readonly #crowdPauseMs: number;
  #left: number;
  #lastAddress = '';
  /** When the address changed last, in milliseconds of `performance.now()`. */
  #changedAt = -Infinity;
  /** Whether the next turn will begin by itself. */
  #isAwaited = false;

  constructor(most: number, crowdPauseMs = 0) {
    this.#most = most;
    this.#left = most;
    this.#crowdPauseMs = crowdPauseMs;
  }

  /** Calls `begin` now, or when it is the turn of the address; never for a connection that was closed in between. */
  take(socket: Socket, begin: () => void): void {
    const address = socket.remoteAddress ?? '';
    if (address !== this.#lastAddress) this.#changedAt = performance.now();
    this.#lastAddress = address;
    const others = this.#waiting.get(address);
    if (!this.#isAwaited) setImmediate(() => this.#begin());
    this.#isAwaited = true;
    if (others === undefined && this.#left > 0) {
      this.#left--;
      begin();
    } else if (others === undefined) this.#waiting.set(address, { works: [{ socket, begin }], notBefore: 0 });
    else others.works.push({ socket, begin });
  }

  #begin(): void {
    this.#left = this.#most;
    const now = performance.now();
    const begun: (() => void)[] = [];
    for (const [address, queue] of this.#waiting) {
      if (this.#left === 0) break;
      if (queue.notBefore > now) continue;
      while (queue.works[0]?.socket.destroyed === true) queue.works.shift();
      const work = queue.works.shift();
      if (work !== undefined) {
        this.#left--;
        begun.push(work.begin);
      }
      const othersCall = now - this.#changedAt < OTHERS_MS;
      if (othersCall && queue.works.length > CROWD) queue.notBefore = now + this.#crowdPauseMs;
      // Its other work waits until every address had its turn.
      this.#waiting.delete(address);
      if (queue.works.length > 0) this.#waiting.set(address, queue);
    }
    this.#isAwaited = begun.length > 0 || this.#waiting.size > 0;
    if (begun.length > 0) setImmediate(() => this.#begin());
    else if (this.#isAwaited) setTimeout(() => this.#begin(), 1);
    for (const begin of begun) begin();
  }
}

/**
 * Begins one connection at a time, once it has sent something. Otherwise hundreds of handshakes at once would delay all
 * other callers.
 */
function beginConnectionsInTurns(server: Server, silentMs: number, idle: IdleConnections): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const turns = new Turns(1, CROWD_PAUSE_MS);
  server.on('connection', (socket: Socket) => {
    const end = () => void socket.destroy();
    const begin = () => {
      socket.off('error', ignore);
      for (const listener of listeners) listener.call(server, socket);
    };
    idle.add(socket);
    socket.on('error', ignore).once('close', () => idle.delete(socket));
    socket.setTimeout(silentMs).on('timeout', end);
    socket.once('readable', () => {
      idle.delete(socket);
      socket.off('timeout', end).setTimeout(0);
      setImmediate(() => socket.destroyed || turns.take(socket, begin));
    });
  });
}

/** A connection that fails before its turn is destroyed. */
const ignore = () => undefined;

/**
 * Answers data that is not HTTP, or that did not arrive in time, and closes the connection; errors below HTTP only
 * close it.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  const code = error.code ?? '';
  // Before the handshake nothing can be written, and waiting for the end of writing would never finish.
  if (!/^(HPE|ERR_HTTP)_/.test(code) || !socket.writable) return void socket.destroy();
  const [status, reason] = clientErrors[code] ?? [400, 'Bad Request'];
  const told = status === 408 ? 'REQUEST_TIMEOUT' : 'REQUEST_INVALID';
  const body = JSON.stringify(errorBody({ status, code: told, message: reason.toLowerCase() }));
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  socket.end(`${head}\r\nConnection: close\r\n\r\n${body}`, () => socket.destroy());
}

const clientErrors: Record<string, [status: number, reason: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
};

/** Limits against clients that are slow, silent or many. */
export interface HttpLimits {
  /**
   * Milliseconds in which the head of a request must arrive; for the first request, from the start of the connection.
   */
  readonly headMs: number;
  /** Milliseconds in which a JSON body must arrive. */
  readonly bodyMs: number;
  /** Milliseconds in which an archive must arrive. */
  readonly uploadMs: number;
  /** Milliseconds for which an idle connection is kept between two requests. */
  readonly idleMs: number;
  /**
   * Milliseconds in which at least one byte of an answer must be sent, so that a client that stops reading does not
   * hold a place.
   */
  readonly stallMs: number;
  /** Milliseconds in which `rateBytes` of an archive or of an answer must move. */
  readonly rateMs: number;
  readonly rateBytes: number;
  /** Largest number of open connections; further ones are closed. */
  readonly connections: number;
}

/**
 * The limits of a service. A connection is kept longer than hosts pause between two ticks, and the validation of a
 * large bundle is not a stall.
 */
export const httpLimits: HttpLimits = {
  headMs: 10_000,
  bodyMs: 20_000,
  uploadMs: 30 * 60_000,
  idleMs: 75_000,
  stallMs: 5 * 60_000,
  rateMs: 30_000,
  rateBytes: 65_536,
  connections: 50_000,
};
