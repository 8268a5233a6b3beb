import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { failedFault, Fault, stoppedFault } from '../../../machines/fault.ts';
import { ignoreError, readJsonBody } from '../transport/httpRequest.ts';
import { engineAnswerFault } from './engineAnswer.rules.ts';

/** Where the engine is, and how long its calls may take. */
interface EngineApiOptions {
  containerHost: string;
  /** On abort every call fails with the fault `stopped`. */
  signal: AbortSignal;
  timeoutsMs?: Timeouts | undefined;
  /** Called before a request whose response may contain secrets, such as the environment of a container. */
  onInspect?: (() => void) | undefined;
}

/** Total milliseconds of a call; `removal` is for calls that remove or stop something. */
interface Timeouts {
  call: number;
  removal: number;
}

/** Calls to a container engine. */
export type EngineApi = ReturnType<typeof createEngineApi>;

/** Milliseconds without a byte: well inside the 15 s that a tick has to end after SIGTERM (spec §2.2). */
const IDLE_TIMEOUT_MS = 10_000;
/** Longer than the longest `stop_grace_period` of a bundle. */
const REMOVAL_IDLE_TIMEOUT_MS = 330_000;

/** A busy engine responds late, but then at once: these bounds end a response that never completes. */
const defaultTimeouts: Timeouts = { call: 60_000, removal: 360_000 };

/** Bytes: twice the largest response that `requestJson` reads. */
const MAX_CONNECTION_BYTES = 32 * 1024 * 1024;

/** Calls to the engine's API, by dockerode or plain HTTP. Each is bounded in time and fails with a Fault. */
export function createEngineApi({ containerHost, signal, timeoutsMs = defaultTimeouts, onInspect }: EngineApiOptions) {
  const socketPath = containerHost.replace('unix://', '');
  const engineWithin = (totalMs: number, timeout: number) => {
    return { socketPath, agent: new EngineAgent({ totalMs, maxBytes: MAX_CONNECTION_BYTES, signal }), timeout };
  };
  const translateErrors = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw signal.aborted ? stoppedFault() : faultOf(error, containerHost);
    });
  const dockerodeWithin = (totalMs: number, idleMs: number) => {
    const client = lazyDockerode(engineWithin(totalMs, idleMs));
    return <T>(call: (docker: Docker, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
      translateErrors(
        withTimeout(totalMs, signal, () => client().then((docker) => call(docker, { abortSignal: signal }))),
      );
  };
  const engine = engineWithin(timeoutsMs.call, IDLE_TIMEOUT_MS);
  const getJson = (engineRequest: EngineRequest) =>
    withTimeout(timeoutsMs.call, signal, () => requestJson(engine, engineRequest, signal));
  return {
    /** Total milliseconds of a call that removes nothing. */
    callMs: timeoutsMs.call,
    withDocker: dockerodeWithin(timeoutsMs.call, IDLE_TIMEOUT_MS),
    withDockerSlow: dockerodeWithin(timeoutsMs.removal, REMOVAL_IDLE_TIMEOUT_MS),
    getJson: (engineRequest: EngineRequest) => translateErrors(getJson(engineRequest)),
    /** The JSON of an inspection, null when the container is gone. */
    inspectContainer: async (id: string): Promise<object | null> => {
      onInspect?.();
      const inspection = await translateErrors(ignoreNotFound(getJson({ path: `/containers/${id}/json` })));
      return inspection && (inspection.json as object);
    },
    /** Bounded until the response begins; then it lasts until the signal aborts or it is destroyed. */
    openStream: (engineRequest: EngineRequest) => {
      onInspect?.();
      return translateErrors(openStream(engineRequest, { socketPath, timeoutMs: timeoutsMs.call, signal }));
    },
  };
}

async function openStream(
  engineRequest: EngineRequest,
  { socketPath, timeoutMs, signal }: { socketPath: string; timeoutMs: number; signal: AbortSignal },
) {
  const abandoned = new AbortController();
  const engine = { socketPath, agent: new EngineAgent(null), timeout: IDLE_TIMEOUT_MS };
  const open = () => requestStream(engine, engineRequest, AbortSignal.any([signal, abandoned.signal]));
  return withTimeout(timeoutMs, signal, open).catch((error: unknown) => {
    abandoned.abort();
    throw error;
  });
}

/**
 * The result of a call; an error without a code when its time is over. dockerode does not notice a truncated response.
 */
function withTimeout<T>(totalMs: number, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('no end of the answer in time'));
    if (signal.aborted) {
      giveUp();
      return;
    }
    const timer = setTimeout(giveUp, totalMs);
    signal.addEventListener('abort', giveUp, { once: true });
    void call()
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      });
  });
}

/**
 * Loads dockerode at first use: a tick on a converged host does not need it. With DOCKER_HOST set, dockerode would
 * connect there instead of to `engine`.
 */
function lazyDockerode(engine: Docker.DockerOptions): () => Promise<Docker> {
  const load = async () => {
    const { default: Client } = await import('dockerode');
    delete process.env['DOCKER_HOST'];
    return new Client(engine);
  };
  let client: Promise<Docker> | null = null;
  return () => (client ??= load());
}

function faultOf(error: unknown, host: string): Fault {
  if (error instanceof Fault) return error;
  const { code, statusCode, message } = error as Error & { code?: string; statusCode?: number };
  if (statusCode !== undefined) return engineAnswerFault({ statusCode, message });
  const reasons: Record<string, string> = {
    ENOENT: 'no such socket; is the engine installed and running?',
    ECONNREFUSED: 'nothing listens; is the engine running?',
    EACCES: 'permission denied; add the agent to the group that owns the socket',
  };
  const known = reasons[code ?? ''];
  if (known !== undefined) return failedFault('RUNTIME_UNAVAILABLE', `container engine at ${host}: ${known}`);
  return failedFault('RUNTIME_UNAVAILABLE', `container engine at ${host} does not answer (${code ?? 'in time'})`);
}

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
class EngineAgent extends Agent {
  readonly #bounds: ConnectionBounds | null;

  /** Without bounds a connection may last and carry any amount. */
  constructor(bounds: ConnectionBounds | null) {
    // sockets of unix have no server name; if one is given, Node skips loading its check for IPv6 addresses
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

/** Where and how to reach an engine. */
interface EngineEndpoint {
  socketPath: string;
  agent: Agent;
  /** Milliseconds without a byte after which a request fails. */
  timeout: number;
}

/** Path and query parameters of a GET request to the engine. */
interface EngineRequest {
  path: string;
  query?: Record<string, string>;
}

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** JSON of an engine, and the API version in its headers. */
interface EngineResponse {
  json: unknown;
  isPodman: boolean;
  /** Version of Docker's API, such as `1.51`; '' if it is missing. */
  apiVersion: string;
}

/**
 * Sends one request. Not by dockerode: an inspection
 * contains the container's environment, so secrets, and dockerode would leave a copy of it in freed memory. A tick on a
 * converged host also need not load dockerode.
 */
async function requestJson(
  engine: EngineEndpoint,
  engineRequest: EngineRequest,
  signal: AbortSignal,
): Promise<EngineResponse> {
  const response = await sendRequest(engine, engineRequest, signal);
  const json = await readJsonBody(response, MAX_ANSWER_BYTES);
  const { statusCode, headers } = response;
  if (statusCode !== 200) throw refusal(response, json);
  if (json === undefined) throw Object.assign(new Error('not JSON'), { code: 'NOT_JSON' });
  return {
    json,
    isPodman: 'libpod-api-version' in headers,
    apiVersion: [headers['api-version'] ?? ''].flat().join(),
  };
}

/** The error of an unsuccessful response, with the engine's message; without JSON, only the status text. */
function refusal({ statusCode, statusMessage = '' }: IncomingMessage, json: unknown): Error {
  const { message = statusMessage } = (json ?? {}) as { message?: string };
  return Object.assign(new Error(message), { statusCode });
}

/**
 * The body of a response that never ends, without an idle timeout. Throws the engine's message for another response.
 */
async function requestStream(
  engine: EngineEndpoint,
  engineRequest: EngineRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await sendRequest(engine, engineRequest, signal);
  if (response.statusCode === 200) return response.setTimeout(0);
  throw refusal(response, await readJsonBody(response, MAX_ANSWER_BYTES));
}

async function sendRequest(
  engine: EngineEndpoint,
  { path, query = {} }: EngineRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const outgoing = request({ ...engine, signal, path: `${path}?${new URLSearchParams(query).toString()}` });
  outgoing.on('timeout', () => outgoing.destroy()).on('error', ignoreError);
  const [response] = (await once(outgoing.end(), 'response')) as [IncomingMessage];
  return response;
}

/** The result of a call to the engine; null when it failed with 404, or with a tolerated status or message. */
export async function ignoreNotFound<T>(call: Promise<T>, ...tolerated: (number | RegExp)[]): Promise<T | null> {
  return call.catch((error: unknown) => {
    const { statusCode, message } = error as Error & { statusCode?: number };
    const isTolerated = (each: number | RegExp) =>
      typeof each === 'number' ? each === statusCode : each.test(message);
    if (statusCode !== undefined && [404, ...tolerated].some(isTolerated)) return null;
    throw error;
  });
}

/** The filter of the engine's lists that selects the resources that compose created for a project. */
export function projectFilter(project: string): { label: string[] } {
  return { label: [`com.docker.compose.project=${project}`] };
}
