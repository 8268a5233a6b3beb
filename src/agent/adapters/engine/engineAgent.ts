import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/** What a connection to an engine obeys; it carries one call. */
interface Bounds {
  /** Milliseconds from its beginning to its end. */
  wholeMs: number;
  /** Bytes of the answer, its head too. */
  maxBytes: number;
  signal: AbortSignal;
}

type Connect = Agent['createConnection'];

/** Connections that end, where they are bounded, whatever an engine sends and whatever its client heeds. */
export class EngineAgent extends Agent {
  readonly #bounds: Bounds | null;

  /** Without bounds what a connection carries may go on. */
  constructor(bounds: Bounds | null) {
    // a socket has no server name; told so, Node does not compile what finds out whether one is an IPv6 address
    super({ servername: '' } as object);
    this.#bounds = bounds;
  }

  override createConnection(...[options, done]: Parameters<Connect>): ReturnType<Connect> {
    const socket = super.createConnection(options, done);
    if (socket && this.#bounds) bind(socket, this.#bounds);
    return socket;
  }
}

function bind(socket: Duplex, { wholeMs, maxBytes, signal }: Bounds): void {
  const end = () => socket.destroy();
  const timer = setTimeout(end, wholeMs);
  signal.addEventListener('abort', end, { once: true });
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) end();
  });
  socket.once('close', () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  });
}
