import { isIP } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { encodeFrame, FrameReader, type Frame } from './frame.ts';
import type { Identity } from './identity.ts';
import { MeshTrouble, sortSocketError } from './trouble.ts';
import { i32, numberIn, signedIn } from './values.ts';
import { content, header } from './words.ts';

/** Where an edge router listens. */
export interface Router {
  host: string;
  port: number;
}

/** What a frame is sent with; the channel numbers it. */
export type Outgoing = Omit<Frame, 'sequence'>;

/** Who hears of a channel's frames and of its end. */
export interface Listener {
  frame: (frame: Frame) => void;
  /** Once; after it the channel is closed. */
  end: (trouble: MeshTrouble) => void;
}

const HELLO_SEQUENCE = -1;
const KEEP_ALIVE_MS = 30_000;
/** How long a closed channel may take to send what is still to be sent. */
const LINGER_MS = 5000;

/** A TLS connection to an edge router that has answered our hello; carries one dialled connection. */
export class Channel {
  readonly #socket: TLSSocket;
  readonly #reader = new FrameReader();
  readonly #where: string;
  #sequence = 0;
  #listener: Listener;
  #ended: MeshTrouble | null = null;

  constructor(socket: TLSSocket, where: string, listener: Listener) {
    this.#socket = socket;
    this.#where = where;
    this.#listener = listener;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#end(sortSocketError(error, where)));
    socket.once('close', () => this.#end(new MeshTrouble('unreachable', `${where}: closed the connection`)));
  }

  /** Sends a frame and gives its number; a reply names it. */
  send(frame: Outgoing): number {
    this.write(frame, () => undefined);
    return this.#sequence;
  }

  /** Sends a frame; `done` is called when there is room for the next. */
  write(frame: Outgoing, done: () => void): void {
    this.#sequence += 1;
    const hasRoom = this.#socket.write(encodeFrame({ ...frame, sequence: this.#sequence }));
    if (hasRoom) done();
    else this.#socket.once('drain', done);
  }

  hello(token: string): void {
    const headers = new Map([[header.sessionToken, Buffer.from(token)]]);
    this.#socket.write(
      encodeFrame({ type: content.hello, sequence: HELLO_SEQUENCE, headers, body: Buffer.from('deployd') }),
    );
  }

  /** One listener at a time; the end is told to it even when it comes late. */
  listen(listener: Listener): void {
    this.#listener = listener;
    if (this.#ended !== null) listener.end(this.#ended);
  }

  /** Reads no more until `resume`: the only brake that the protocol has. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Sends what is still to be sent, then closes; a router that reads no more does not hold it up for long. */
  close(): void {
    this.#listener = silent;
    this.#socket.destroySoon();
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#take(frame);
    } catch (error) {
      this.#end(sortSocketError(error, this.#where));
    }
  }

  #take(frame: Frame): void {
    if (frame.type !== content.latency) {
      this.#listener.frame(frame);
      return;
    }
    if (this.#socket.writableNeedDrain) return;
    const time = frame.headers.get(header.timestamp) ?? Buffer.alloc(0);
    const headers = new Map([
      [header.replyFor, i32(frame.sequence)],
      [header.timestamp, time],
    ]);
    this.send({ type: content.result, headers, body: Buffer.alloc(0) });
  }

  #end(trouble: MeshTrouble): void {
    if (this.#ended !== null) return;
    this.#ended = trouble;
    this.#socket.destroy();
    this.#listener.end(trouble);
  }
}

const silent: Listener = { frame: () => undefined, end: () => undefined };

/** How routers are greeted; the token is that of the login. */
export interface Greeting {
  identity: Identity;
  token: string;
  signal: AbortSignal;
}

/** A channel to a router that has answered our hello. */
export function greet(router: Router, { identity, token, signal }: Greeting): Promise<Channel> {
  const where = `edge router ${router.host}:${router.port}`;
  return new Promise<Channel>((resolve, reject) => {
    const socket = tls.connect({
      ...router,
      ...(isIP(router.host) === 0 && { servername: router.host }),
      secureContext: identity.secureContext,
      rejectUnauthorized: true,
      ALPNProtocols: ['ziti-edge'],
    });
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    const giveUp = () => {
      channel.close();
      socket.destroy();
      reject(new MeshTrouble('unreachable', `${where}: no answer in time`));
    };
    const channel = new Channel(socket, where, {
      frame: (frame) => {
        if (!isReplyTo(frame, HELLO_SEQUENCE)) return;
        signal.removeEventListener('abort', giveUp);
        const trouble = helloTrouble(frame, where);
        if (trouble === null) {
          resolve(channel);
        } else {
          channel.close();
          reject(trouble);
        }
      },
      end: reject,
    });
    socket.once('secureConnect', () => channel.hello(token));
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}

function helloTrouble({ headers }: Frame, where: string): MeshTrouble | null {
  if (headers.get(header.resultSuccess)?.[0] === 1) return null;
  const isBusy = numberIn(headers.get(header.helloRejectClass)) !== 2;
  return isBusy
    ? new MeshTrouble('unreachable', `${where}: is too busy`)
    : new MeshTrouble('refused', `${where}: does not permit the identity`);
}

/** Whether a frame answers the one that was sent with this number. */
export function isReplyTo(frame: Frame, sequence: number): boolean {
  return signedIn(frame.headers.get(header.replyFor)) === sequence;
}
