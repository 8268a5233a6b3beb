import { Agent } from 'node:http';
import type Docker from 'dockerode';
import { failure, stopped, type Fault } from '../../machines/fault.ts';
import { answerOf, streamOf, type Question } from './engineAnswer.ts';

/** How an engine is reached. */
interface Reached {
  containerHost: string;
  /** When it fires, every call ends as `stopped`. */
  signal: AbortSignal;
}

/** The ways to ask an engine. */
export type Calls = ReturnType<typeof callsTo>;

/** Well inside the 15 s that a tick has to end after SIGTERM (spec §2.2). */
const CALL_TIMEOUT_MS = 10_000;
const REMOVAL_TIMEOUT_MS = 120_000;

/** A socket has no server name; told so, Node does not compile what finds out whether one is an IPv6 address. */
const agent = new Agent({ servername: '' } as object);

/** Calls to the engine's API, by dockerode or by hand; each ends in time, and every error of it is a fault. */
export function callsTo({ containerHost, signal }: Reached) {
  const engine = { socketPath: containerHost.replace('unix://', ''), agent, timeout: CALL_TIMEOUT_MS };
  const sorted = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw signal.aborted ? stopped() : faultOf(error, containerHost);
    });
  const asking = (timeout: number) => {
    const client = clientOf({ ...engine, timeout });
    return <T>(call: (docker: Docker, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
      sorted(client().then((docker) => call(docker, { abortSignal: signal })));
  };
  return {
    ask: asking(CALL_TIMEOUT_MS),
    askPatiently: asking(REMOVAL_TIMEOUT_MS),
    answer: (question: Question) => answerOf(engine, question, signal),
    stream: (question: Question) => sorted(streamOf(engine, question, signal)),
    /** A fault in the place of an error. */
    sorted,
  };
}

/**
 * dockerode, loaded once it is needed: no tick does that finds all well. Were there a DOCKER_HOST it would go there, whatever
 * engine it is given.
 */
function clientOf(engine: Docker.DockerOptions): () => Promise<Docker> {
  const load = async () => {
    const { default: Client } = await import('dockerode');
    delete process.env['DOCKER_HOST'];
    return new Client(engine);
  };
  let client: Promise<Docker> | null = null;
  return () => (client ??= load());
}

function faultOf(error: unknown, host: string): Fault {
  const { code, statusCode, reason } = error as { code?: string; statusCode?: number; reason?: string };
  if (statusCode !== undefined)
    return failure('RUNTIME_UNAVAILABLE', `container engine answers ${statusCode} ${reason ?? ''}`);
  const why: Record<string, string> = {
    ENOENT: 'no such socket; is the engine installed and running?',
    ECONNREFUSED: 'nothing listens; is the engine running?',
    EACCES: 'permission denied; add the agent to the group that owns the socket',
  };
  const known = why[code ?? ''];
  if (known !== undefined) return failure('RUNTIME_UNAVAILABLE', `container engine at ${host}: ${known}`);
  return failure('RUNTIME_UNAVAILABLE', `container engine at ${host} does not answer (${code ?? 'in time'})`);
}
