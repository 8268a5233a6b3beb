import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { failedFault, Fault, offlineFault } from '../../../machines/fault.ts';
import { type Agents, createAgents, verificationOptions, withConnectTimeout } from '../../core/connector.ts';
import { createTlsContext, keepShownChain, readAuthorities } from '../../core/certificateAuthorities.ts';
import type { CertificateLife } from '../../core/untrusted.rules.ts';
import {
  createMesh,
  extendCertificate,
  type Mesh,
  MeshError,
  type MeshOptions,
  type MeshStore,
  readIdentity,
} from '../../mesh/mesh.ts';
import { writeDurably } from '../state/durableFiles.ts';
import { readRegularFile } from '../../core/files.ts';
import type { Settings } from '../config/configKeys.ts';
import { type Peer, peerNames, proxyPorts } from './classifyError.rules.ts';
import { createTrustStore, openSystemRoots, type SystemRoots, type Trust, type TrustStore } from './trustStore.ts';

/**
 * The transport that config.yaml names; throws a Fault with its name when it cannot work. Without `roots` no roots are
 * remembered; `mesh` says where the transport `sdk` warns and remembers.
 */
export function createTransport(
  settings: Settings,
  roots: SystemRoots = openSystemRoots(null),
  mesh: Pick<MeshOptions, 'warn' | 'store'> = {},
): Transport {
  const trustStore = createTrustStore(settings, roots);
  switch (settings.transport) {
    case 'system':
      return createSystemTransport(settings, trustStore);
    case 'proxy':
      return createProxyTransport(settings, trustStore);
    case 'sdk':
      return createSdkTransport(settings, trustStore, mesh);
  }
}

/** Ordinary networking: connections go to the hosts of the URLs. */
function createSystemTransport(settings: Settings, trustStore: TrustStore): Transport {
  const options = { connectTimeoutMs: settings.connect_timeout_s * 1000 };
  return { name: 'system', ...createAgentPool(trustStore, (_peer, trust) => createAgents(trust, options)) };
}

/** The local mesh proxy: only the dialled address differs; names and certificates are still taken from the URLs. */
function createProxyTransport(settings: Settings, trustStore: TrustStore): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const open = (peer: Peer, trust: Trust) =>
    createAgents(trust, { address: { host: '127.0.0.1', port: proxyPorts[peer] }, connectTimeoutMs });
  return { name: 'proxy', ...createAgentPool(trustStore, open) };
}

/** The mesh client in process: one login per tick, and no connection to the services except through the mesh. */
function createSdkTransport(
  settings: Settings,
  trustStore: TrustStore,
  options: Pick<MeshOptions, 'warn' | 'store'>,
): Transport {
  const connectTimeoutMs = settings.connect_timeout_s * 1000;
  const { identity_file: identityFile, tenancy_service: tenancy, secretstore_service: secretstore } = settings.mesh;
  const mesh = createMesh({ identityFile, timeoutMs: connectTimeoutMs, ...options });
  const services = { tenancy, secretstore };
  const open = (peer: Peer, trust: Trust) => meshAgents({ mesh, service: services[peer], connectTimeoutMs }, trust);
  const { agents, agentsWithAllRoots, close } = createAgentPool(trustStore, open);
  return {
    name: 'sdk',
    agents,
    agentsWithAllRoots,
    close: () => {
      close();
      void mesh.close();
    },
  };
}

/** The memory of the transport `sdk`, in a file of the state directory. */
export function openMeshStore(stateDir: string): MeshStore {
  const file = join(stateDir, 'mesh.json');
  return {
    load: () => {
      try {
        return readRegularFile(file).toString('utf8');
      } catch {
        return null;
      }
    },
    save: (text) => writeDurably(file, text, 0o600),
  };
}

/** How to reach one service inside the mesh, where it has the name `service`. */
interface MeshRoute {
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
function meshAgents(route: MeshRoute, trust: Trust): Agents {
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
    dialMesh(this.#route, { ...options, defaultPort: 80 }, true).then(
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
      keepShownChain(socket, options.host ?? '');
      const fail = (error: Error) => callback?.(error, stream);
      socket.once('error', fail).once('secureConnect', () => {
        socket.off('error', fail);
        callback?.(null, socket);
      });
      withConnectTimeout(socket, 'secureConnect', this.#route.connectTimeoutMs);
    };
    dialMesh(this.#route, { ...options, defaultPort: 443 }, false).then(startTls, failWith(callback));
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
async function dialMesh(
  { mesh, service, connectTimeoutMs }: MeshRoute,
  options: Options,
  isCleartext: boolean,
): Promise<Duplex> {
  const target = { host: options.host ?? '', port: Number(options.port ?? options.defaultPort), service, isCleartext };
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

const ROLE_HINT = 'the identity needs the role attributes #deploy-agent and #secretstore-client';

/** The fault for each kind of mesh error (spec §9.4, §15). */
function meshFault({ kind, message }: MeshError): Fault {
  switch (kind) {
    case 'identity':
    case 'unsupported':
      return new Fault('failed', `transport sdk: ${message}`, { code: 'TRANSPORT_UNAVAILABLE' });
    case 'refused': {
      const line = 'AGENT_UNAUTHENTICATED: mesh identity refused';
      return new Fault('unauthenticated', line, { code: 'AGENT_UNAUTHENTICATED', moreLines: [`mesh: ${message}`] });
    }
    case 'untrusted':
      return failedFault('TLS_UNTRUSTED', `mesh: ${message}`);
    case 'protocol':
      return failedFault('PROTOCOL_INVALID', `mesh: ${message}`);
    case 'notGranted':
      return offlineFault(`mesh: ${message} (${ROLE_HINT})`);
    case 'noTerminator':
    case 'stale':
    case 'channelClosed':
    case 'unreachable':
      return offlineFault(`mesh: ${message}`);
  }
}

/**
 * One pair of agents for each peer, opened at its first call. They are kept across `close` while the peer's trust is
 * unchanged, so that TLS sessions are resumed, which rely on the first handshake (except in the mesh).
 */
export function createAgentPool(
  trustStore: TrustStore,
  open: (peer: Peer, trust: Trust) => Agents,
): Pick<Transport, 'agents' | 'agentsWithAllRoots' | 'close'> {
  const pool = new Map<Peer, PooledAgents>();
  const replaced = new Set<Agents>();
  const agents = (peer: Peer): Agents => {
    const previous = pool.get(peer);
    if (previous?.isOpen) return previous.agents;
    const trust = trustStore.of(peer);
    if (previous && previous.trust !== trust) replaced.add(previous.agents);
    const pooled = previous?.trust === trust ? previous : { trust, agents: open(peer, trust), isOpen: true };
    pooled.isOpen = true;
    pool.set(peer, pooled);
    return pooled.agents;
  };
  return {
    agents,
    agentsWithAllRoots: (peer) => {
      const previous = pool.get(peer);
      if (previous?.trust.isPartial) {
        trustStore.useAllRoots();
        previous.isOpen = false;
      }
      return agents(peer);
    },
    close: () => {
      for (const pooled of pool.values()) {
        pooled.isOpen = false;
        replaced.add(pooled.agents);
      }
      for (const { http, https } of replaced) {
        http.destroy();
        https.destroy();
      }
      replaced.clear();
    },
  };
}

/** Agents, and the trust that they were opened with. */
interface PooledAgents {
  readonly trust: Trust;
  readonly agents: Agents;
  isOpen: boolean;
}

/**
 * How to reach the two services (spec §15). With every transport TLS is 1.2 or newer, the certificate is verified
 * against the peer's CA for the name in its URL, and no environment variable changes that.
 */
export interface Transport {
  readonly name: Settings['transport'];
  /**
   * The agents of a peer; the same until `agentsWithAllRoots` or a change of the CA, so that connections, TLS contexts
   * and sessions are shared.
   */
  agents: (peer: Peer) => Agents;
  /** Agents that trust all of the system's roots: new ones if those in use trust only the remembered roots. */
  agentsWithAllRoots: (peer: Peer) => Agents;
  /** Closes idle connections; the next call opens new ones and reads the CA files again. */
  close: () => void;
}

const CHECK_TIMEOUT_MS = 5000;

/** `deployd doctor --proxy`: prints the services that do not answer through their port; exit 1 if there are any. */
export async function checkProxyAnswers(out: Pick<Console, 'log'>): Promise<number> {
  const peers = ['tenancy', 'secretstore'] as const;
  const answers = await Promise.all(peers.map((peer) => answersThroughProxy(proxyPorts[peer])));
  const silent = peers.filter((_peer, index) => !answers[index]);
  if (silent.length > 0)
    out.log(silent.map((peer) => `the ${peerNames[peer]} (port ${proxyPorts[peer]})`).join(' and '));
  return silent.length > 0 ? 1 : 0;
}

/**
 * Whether a service answers through a port of the proxy: the tunneller accepts every connection, and closes it if the
 * service cannot be dialled. TLS is tried first, up to a complete handshake, because servers log incomplete ones; then
 * plain HTTP.
 */
export async function answersThroughProxy(port: number): Promise<boolean> {
  const address = { host: '127.0.0.1', port };
  const answersTls = await answers(
    tls.connect({ ...address, secureContext: createTlsContext(readAuthorities(null)) }),
    'secureConnect',
  );
  if (answersTls) return true;
  const socket = net.connect(address, () => socket.write('HEAD / HTTP/1.0\r\n\r\n'));
  return answers(socket, 'data');
}

/** True at the event, and at an error that only an answer causes. */
function answers(socket: net.Socket, event: 'secureConnect' | 'data'): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (hasAnswered: boolean) => {
      clearTimeout(timer);
      resolve(hasAnswered);
      socket.destroy();
    };
    const timer = setTimeout(() => end(false), CHECK_TIMEOUT_MS);
    socket.once(event, () => end(true));
    socket.once('close', () => end(false));
    socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => end(!/^E(CONN|PIPE|TIMEDOUT|NOTCONN)/.test(code)));
  });
}

/** `deployd extend-identity`: exit 75 if no controller answers, 1 if the certificate cannot be extended. */
export async function extendIdentity(
  identityFile: string,
  { isForced }: { isForced: boolean },
  out: Pick<Console, 'log' | 'error'>,
): Promise<number> {
  try {
    const options = { identityFile, timeoutMs: CHECK_TIMEOUT_MS, isForced, now: new Date() };
    const { result, until } = await extendCertificate(options);
    out.log(`mesh identity ${identityFile}: ${describedResults[result]}, valid until ${until.toISOString()}`);
    return 0;
  } catch (error) {
    if (!(error instanceof MeshError)) throw error;
    out.error(`mesh identity ${identityFile}: its certificate is not extended: ${error.message}`);
    return error.kind === 'unreachable' ? 75 : 1;
  }
}

const describedResults = {
  notDue: 'the certificate need not be extended yet',
  extended: 'the certificate was extended',
  completed: 'an interrupted extension of the certificate was completed',
};

/** The lifetime of the certificate that this host uses in the mesh; null without one, or if it cannot be read. */
export async function identityLifeOf({
  transport,
  mesh,
}: Pick<Settings, 'transport' | 'mesh'>): Promise<CertificateLife | null> {
  if (transport === 'system') return null;
  const identity = await readIdentity(mesh.identity_file).catch(() => null);
  return identity && { from: identity.certificate.validFromDate, until: identity.certificate.validToDate };
}
