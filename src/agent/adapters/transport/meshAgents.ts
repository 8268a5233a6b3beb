import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { MeshTrouble, type Mesh } from '../../../mesh/mesh.ts';
import { bounded, checkedFor, type Agents } from './agents.ts';
import { meshFault } from './meshFault.ts';
import type { Trust } from './trust.ts';

/** How one service is reached inside the mesh; the name is what it is called there. */
export interface MeshRoute {
  mesh: Mesh;
  service: string;
  connectTimeoutMs: number;
}

/**
 * How long a connection may wait for its next call. Not long: where a tunneller does the flow control itself (1.7), its
 * router does not pass on that the service has closed, and a call on such a connection gets no answer.
 */
const IDLE_MS = 1000;

type Connect = https.Agent['createConnection'];
type Options = Parameters<Connect>[0];

/** Agents whose connections begin and end inside the mesh: there is no other way out of them. */
export function meshAgents(route: MeshRoute, trust: Trust): Agents {
  return { http: new MeshHttpAgent(route), https: new MeshHttpsAgent(route, trust) };
}

/** Connections that wait for their next call, each with what ends it. */
class Waiting {
  readonly #timers = new WeakMap<Duplex, NodeJS.Timeout>();

  begin(stream: Duplex): void {
    const timer = setTimeout(() => stream.destroy(), IDLE_MS);
    this.#timers.set(stream, timer.unref());
  }

  end(stream: Duplex): void {
    clearTimeout(this.#timers.get(stream));
  }
}

/** Plain HTTP inside a mesh connection. */
class MeshHttpAgent extends http.Agent {
  readonly #route: MeshRoute;
  readonly #waiting = new Waiting();

  constructor(route: MeshRoute) {
    super({ keepAlive: true });
    this.#route = route;
  }

  override createConnection(...[options, done]: Parameters<Connect>): ReturnType<Connect> {
    dialled(this.#route, { ...options, defaultPort: 80 }).then((stream) => done?.(null, stream), failed(done));
    return undefined;
  }

  override keepSocketAlive(stream: Duplex): boolean {
    this.#waiting.begin(stream);
    return true;
  }

  override reuseSocket(stream: Duplex, request: http.ClientRequest): void {
    this.#waiting.end(stream);
    super.reuseSocket(stream, request);
  }
}

/** TLS inside a mesh connection, with the service's own name and CA. */
class MeshHttpsAgent extends https.Agent {
  readonly #route: MeshRoute;
  readonly #waiting = new Waiting();
  readonly #trust: Trust;

  constructor(route: MeshRoute, trust: Trust) {
    super({ keepAlive: true, secureContext: trust.context });
    this.#route = route;
    this.#trust = trust;
  }

  override createConnection(...[options, done]: Parameters<Connect>): ReturnType<Connect> {
    const secured = (stream: Duplex) => {
      const socket = tls.connect({
        socket: stream,
        secureContext: this.#trust.context,
        ALPNProtocols: ['http/1.1'],
        ...checkedFor(options.host ?? '', this.#trust),
      });
      const fail = (error: Error) => done?.(error, stream);
      socket.once('error', fail).once('secureConnect', () => {
        socket.off('error', fail);
        done?.(null, socket);
      });
      bounded(socket, 'secureConnect', this.#route.connectTimeoutMs);
    };
    dialled(this.#route, { ...options, defaultPort: 443 }).then(secured, failed(done));
    return undefined;
  }

  override keepSocketAlive(stream: Duplex): boolean {
    this.#waiting.begin(stream);
    return true;
  }

  override reuseSocket(stream: Duplex, request: http.ClientRequest): void {
    this.#waiting.end(stream);
    super.reuseSocket(stream, request);
  }
}

/** Like a socket of HTTP it ends when its peer does, so that a pool does not keep one that nobody answers on. */
async function dialled({ mesh, service, connectTimeoutMs }: MeshRoute, options: Options): Promise<Duplex> {
  const target = { host: options.host ?? '', port: Number(options.port ?? options.defaultPort), service };
  const stream = await mesh.dial(target, AbortSignal.timeout(connectTimeoutMs));
  stream.allowHalfOpen = false;
  return stream;
}

/** What http.ts finds as the cause of the client's error. */
function failed(done: Parameters<Connect>[1]): (error: unknown) => void {
  return (error) => {
    const fault = error instanceof MeshTrouble ? meshFault(error) : (error as Error);
    (done as ((error: Error) => void) | undefined)?.(fault);
  };
}
