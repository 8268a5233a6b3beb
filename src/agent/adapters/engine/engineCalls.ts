import type Docker from 'dockerode';
import { failure, stopped, type Fault } from '../../../../machines/fault.ts';
import { EngineAgent } from './engineAgent.ts';
import { answerOf, streamOf, type Question } from './engineAnswer.ts';

/** How an engine is reached. */
interface Reached {
  containerHost: string;
  /** When it fires, every call ends as `stopped`. */
  signal: AbortSignal;
  limitsMs?: Limits | undefined;
}

/** Milliseconds that a call may take from its beginning to its end, one that removes or stops something longer. */
interface Limits {
  call: number;
  removal: number;
}

/** The ways to ask an engine. */
export type Calls = ReturnType<typeof callsTo>;

/** Milliseconds of silence: well inside the 15 s that a tick has to end after SIGTERM (spec §2.2). */
const SILENCE_MS = 10_000;
const REMOVAL_SILENCE_MS = 120_000;

/** An engine that has much to do answers late, and then at once: these end one that never comes to an end. */
const longest: Limits = { call: 60_000, removal: 300_000 };

/** Bytes: twice the longest answer that is read by hand. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Calls to the engine's API, by dockerode or by hand; each ends in time, and every error of it is a fault. */
export function callsTo({ containerHost, signal, limitsMs = longest }: Reached) {
  const socketPath = containerHost.replace('unix://', '');
  const engineWithin = (wholeMs: number, timeout: number) => {
    return { socketPath, agent: new EngineAgent({ wholeMs, maxBytes: MAX_BYTES, signal }), timeout };
  };
  const stream = async (question: Question) => {
    const inVain = new AbortController();
    const engine = { socketPath, agent: new EngineAgent(null), timeout: SILENCE_MS };
    const open = () => streamOf(engine, question, AbortSignal.any([signal, inVain.signal]));
    return within(limitsMs.call, signal, open).catch((error: unknown) => {
      inVain.abort();
      throw error;
    });
  };
  const sorted = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      throw signal.aborted ? stopped() : faultOf(error, containerHost);
    });
  const asking = (wholeMs: number, silenceMs: number) => {
    const client = clientOf(engineWithin(wholeMs, silenceMs));
    return <T>(call: (docker: Docker, options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> =>
      sorted(within(wholeMs, signal, () => client().then((docker) => call(docker, { abortSignal: signal }))));
  };
  const engine = engineWithin(limitsMs.call, SILENCE_MS);
  return {
    ask: asking(limitsMs.call, SILENCE_MS),
    askPatiently: asking(limitsMs.removal, REMOVAL_SILENCE_MS),
    answer: (question: Question) => within(limitsMs.call, signal, () => answerOf(engine, question, signal)),
    /** Bounded until it begins; it ends with the signal, or when it is destroyed. */
    stream: (question: Question) => sorted(stream(question)),
    /** A fault in the place of an error. */
    sorted,
  };
}

/** What a call brings; an error without a code once its time is over. dockerode does not hear of an answer that breaks off. */
function within<T>(wholeMs: number, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('no end of the answer in time'));
    if (signal.aborted) {
      giveUp();
      return;
    }
    const timer = setTimeout(giveUp, wholeMs);
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
