import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { MeshError, type Mesh } from '../../../mesh/mesh.ts';
import type { Agents } from '../../../core/nodeClient.ts';
import { withConnectTimeout, verificationOptions } from './agents.ts';
import { meshFault } from './meshFault.ts';
import type { Trust } from './trustStore.ts';

/** How to reach one service inside the mesh, where it has the name `service`. */
export interface MeshRoute {
  mesh: Mesh;
  service: string;
  connectTimeoutMs: number;
}

/**
 * Milliseconds that an idle connection is kept. Short, because with a tunneller that does its own flow control (1.7)
 * the router does not report that the service has closed, and a call on such a connection gets no response.
 */
const IDLE_MS = 1000;

type Connect = https.Agent['createConnection'];
type Options = Parameters<Connect>[0];

/** Agents whose connections exist only inside the mesh. */
export function meshAgents(route: MeshRoute, trust: Trust): Agents {
  return { http: new MeshHttpAgent(route), https: new MeshHttpsAgent(route, trust) };
}

/** Plain HTTP inside a mesh connection. */
class MeshHttpAgent extends http.Agent {
  readonly #route: MeshRoute;

  constructor(route: MeshRoute) {
    super({ keepAlive: true });
    closeIdleConnections(this);
    this.#route = route;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    dialMesh(this.#route, { ...options, defaultPort: 80 }).then(
      (stream) => callback?.(null, stream),
      failWith(callback),
    );
    return undefined;
  }
}

/** TLS inside a mesh connection, verified for the service's own name and CA. */
class MeshHttpsAgent extends https.Agent {
  readonly #route: MeshRoute;
  readonly #trust: Trust;

  constructor(route: MeshRoute, trust: Trust) {
    super({ keepAlive: true, secureContext: trust.context });
    closeIdleConnections(this);
    this.#route = route;
    this.#trust = trust;
  }

  override createConnection(...[options, callback]: Parameters<Connect>): ReturnType<Connect> {
    const startTls = (stream: Duplex) => {
      const socket = tls.connect({
        socket: stream,
        secureContext: this.#trust.context,
        ALPNProtocols: ['http/1.1'],
        ...verificationOptions(options.host ?? '', this.#trust),
      });
      const fail = (error: Error) => callback?.(error, stream);
      socket.once('error', fail).once('secureConnect', () => {
        socket.off('error', fail);
        callback?.(null, socket);
      });
      withConnectTimeout(socket, 'secureConnect', this.#route.connectTimeoutMs);
    };
    dialMesh(this.#route, { ...options, defaultPort: 443 }).then(startTls, failWith(callback));
    return undefined;
  }
}

/** Closes connections of the agent that are idle for too long. */
function closeIdleConnections(agent: http.Agent): void {
  const timers = new WeakMap<Duplex, NodeJS.Timeout>();
  const reuseSocket = agent.reuseSocket.bind(agent);
  agent.keepSocketAlive = (stream: Duplex) => {
    timers.set(stream, setTimeout(() => stream.destroy(), IDLE_MS).unref());
    return true;
  };
  agent.reuseSocket = (stream: Duplex, request) => {
    clearTimeout(timers.get(stream));
    reuseSocket(stream, request);
  };
}

/**
 * Dials through the mesh. The stream closes when its peer does, like a socket of HTTP, so that no dead connection is
 * kept for reuse.
 */
async function dialMesh({ mesh, service, connectTimeoutMs }: MeshRoute, options: Options): Promise<Duplex> {
  const target = { host: options.host ?? '', port: Number(options.port ?? options.defaultPort), service };
  const stream = await mesh.dial(target, AbortSignal.timeout(connectTimeoutMs));
  stream.allowHalfOpen = false;
  return stream;
}

/** Passes an error to the agent; httpRequest.ts finds a Fault as the cause of the client's error. */
function failWith(callback: Parameters<Connect>[1]): (error: unknown) => void {
  return (error) => {
    const fault = error instanceof MeshError ? meshFault(error) : (error as Error);
    (callback as ((error: Error) => void) | undefined)?.(fault);
  };
}
