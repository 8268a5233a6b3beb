import { isIP } from 'node:net';
import tls from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { resolveAddresses } from '../core/connector.ts';
import { keepShownChain } from '../core/certificateAuthorities.ts';
import { contentType, encodeFrame, type Frame, FrameReader, headerKey, int32, readInt32, readUint32 } from './frame.ts';
import type { Identity } from './identity.ts';
import { classifySocketError, MeshError } from './meshError.ts';

/** Address of an edge router. */
export interface RouterAddress {
  host: string;
  port: number;
}

/** A frame to send; the channel numbers it. */
export type OutgoingFrame = Omit<Frame, 'sequence'>;

/** Receives the frames of a channel, and its end. */
export interface ChannelListener {
  onFrame: (frame: Frame) => void;
  /** Called once; the channel is closed then. */
  onEnd: (error: MeshError) => void;
}

const HELLO_SEQUENCE = -1;
const KEEP_ALIVE_MS = 30_000;
/** Milliseconds that a closed channel may take to send pending data. */
const LINGER_MS = 5000;

/** A TLS connection to an edge router that has accepted our hello; carries one dialled connection. */
export class Channel {
  readonly #socket: TLSSocket;
  readonly #reader = new FrameReader();
  readonly #label: string;
  #sequence = 0;
  #listener: ChannelListener;
  #endError: MeshError | null = null;

  constructor(socket: TLSSocket, label: string, listener: ChannelListener) {
    this.#socket = socket;
    this.#label = label;
    this.#listener = listener;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#end(classifySocketError(error, label)));
    socket.once('close', () => this.#end(new MeshError('unreachable', `${label}: closed the connection`)));
  }

  /** Sends a frame; returns its sequence number, which a reply refers to. */
  send(frame: OutgoingFrame): number {
    this.write(frame, () => undefined);
    return this.#sequence;
  }

  /** Sends a frame; calls `done` when there is room for the next. */
  write(frame: OutgoingFrame, done: () => void): void {
    this.#sequence += 1;
    const hasRoom = this.#socket.write(encodeFrame({ ...frame, sequence: this.#sequence }));
    if (hasRoom) done();
    else this.#socket.once('drain', done);
  }

  sendHello(token: string): void {
    const headers = new Map([[headerKey.sessionToken, Buffer.from(token)]]);
    this.#socket.write(
      encodeFrame({ type: contentType.hello, sequence: HELLO_SEQUENCE, headers, body: Buffer.from('deployd') }),
    );
  }

  /** Sets the listener; there is one at a time. If the channel has ended already, calls `onEnd`. */
  listen(listener: ChannelListener): void {
    this.#listener = listener;
    if (this.#endError !== null) listener.onEnd(this.#endError);
  }

  /** Stops reading until `resume`: the only back-pressure that the protocol has. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Sends pending data, then closes; a router that does not read delays that only briefly. */
  close(): void {
    this.#listener = noListener;
    this.#socket.destroySoon();
    setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.push(chunk)) this.#handleFrame(frame);
    } catch (error) {
      this.#end(classifySocketError(error, this.#label));
    }
  }

  #handleFrame(frame: Frame): void {
    if (frame.type !== contentType.latency) {
      this.#listener.onFrame(frame);
      return;
    }
    if (this.#socket.writableNeedDrain) return;
    const time = frame.headers.get(headerKey.timestamp) ?? Buffer.alloc(0);
    const headers = new Map([
      [headerKey.replyFor, int32(frame.sequence)],
      [headerKey.timestamp, time],
    ]);
    this.send({ type: contentType.result, headers, body: Buffer.alloc(0) });
  }

  #end(error: MeshError): void {
    if (this.#endError !== null) return;
    this.#endError = error;
    this.#socket.destroy();
    this.#listener.onEnd(error);
  }
}

const noListener: ChannelListener = { onFrame: () => undefined, onEnd: () => undefined };

/** Options for opening a channel; the token comes from the login. */
export interface ChannelOptions {
  identity: Identity;
  token: string;
  signal: AbortSignal;
  /** Milliseconds for all addresses of the router together. */
  timeMs: number;
}

/** Opens a channel to a router and waits for the answer to the hello. */
export async function openChannel(router: RouterAddress, options: ChannelOptions): Promise<Channel> {
  const { identity, token, signal, timeMs } = options;
  const { addresses } = await resolveAddresses(router, timeMs);
  const label = `edge router ${router.host}:${router.port}`;
  return new Promise<Channel>((resolve, reject) => {
    const socket = tls.connect({
      ...router,
      ...addresses,
      ...(isIP(router.host) === 0 && { servername: router.host }),
      secureContext: identity.secureContext,
      rejectUnauthorized: true,
      ALPNProtocols: ['ziti-edge'],
    });
    keepShownChain(socket, router.host);
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    const giveUp = () => {
      channel.close();
      socket.destroy();
      reject(new MeshError('unreachable', `${label}: no answer in time`));
    };
    const channel = new Channel(socket, label, {
      onFrame: (frame) => {
        if (!isReplyTo(frame, HELLO_SEQUENCE)) return;
        signal.removeEventListener('abort', giveUp);
        const error = helloError(frame, label);
        if (error === null) {
          resolve(channel);
        } else {
          channel.close();
          reject(error);
        }
      },
      onEnd: reject,
    });
    socket.once('secureConnect', () => channel.sendHello(token));
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}

function helloError({ headers }: Frame, label: string): MeshError | null {
  if (headers.get(headerKey.resultSuccess)?.[0] === 1) return null;
  const isBusy = readUint32(headers.get(headerKey.helloRejectClass)) !== 2;
  return isBusy
    ? new MeshError('unreachable', `${label}: is too busy`)
    : new MeshError('refused', `${label}: does not permit the identity`);
}

/** True when the frame is a reply to the frame with this sequence number. */
export function isReplyTo(frame: Frame, sequence: number): boolean {
  return readInt32(frame.headers.get(headerKey.replyFor)) === sequence;
}
