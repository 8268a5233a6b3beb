import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/** Bounds of one connection to the engine, which carries one call. */
interface ConnectionBounds {
  /** Milliseconds from connect to close. */
  totalMs: number;
  /** Bytes of the response, its head included. */
  maxBytes: number;
  signal: AbortSignal;
}

type Connect = Agent['createConnection'];

/** Connections that are closed at their bounds, whatever the engine sends and whatever the client on top does. */
export class EngineAgent extends Agent {
  readonly #bounds: ConnectionBounds | null;

  /** Without bounds a connection may last and carry any amount. */
  constructor(bounds: ConnectionBounds | null) {
    // a unix socket has no server name; with one given, Node does not load its check for IPv6 addresses
    super({ servername: '' } as object);
    this.#bounds = bounds;
  }

  override createConnection(...[options, onConnect]: Parameters<Connect>): ReturnType<Connect> {
    const socket = super.createConnection(options, onConnect);
    if (socket && this.#bounds) enforceBounds(socket, this.#bounds);
    return socket;
  }
}

function enforceBounds(socket: Duplex, { totalMs, maxBytes, signal }: ConnectionBounds): void {
  const close = () => socket.destroy();
  const timer = setTimeout(close, totalMs);
  signal.addEventListener('abort', close, { once: true });
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) close();
  });
  socket.once('close', () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', close);
  });
}
