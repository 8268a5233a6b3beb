import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../../machines/fault.ts';
import { parseErrorBody, parseRetryAfter } from '../../core/http.rules.ts';
import { open, type OpenAnswer } from '../../core/nodeClient.ts';
import { type ClockFiles, untrustedOf } from '../../core/certificateAuthorities.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Transport } from './transport.ts';
import { callBackoffMs, type CallError, classifyError, formatPeer, type Responder } from './classifyError.rules.ts';
import { createSender, errorCodeOf, type HttpCall, readJsonBody } from './httpRequest.ts';

/** A complete response; `json` is undefined when the body is not JSON. */
export interface HttpReply {
  status: number;
  headers: IncomingHttpHeaders;
  json: unknown;
}

/** A response whose body is still to be read; leaving the loop early closes the connection. */
export interface StreamedReply {
  /** The sender of the response, as messages name it. */
  peerLabel: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: AsyncIterable<Buffer>;
  discard: () => void;
}

/** HTTP with the agent's limits, retries and error classification; throws only Faults. */
export interface HttpClient {
  call: (call: HttpCall) => Promise<HttpReply>;
  /** `limit` bounds the response from start to last byte; its abort reason may be `STALLED`. */
  stream: (call: HttpCall, limit: AbortSignal) => Promise<StreamedReply>;
}

interface HttpClientOptions {
  settings: Settings;
  transport: Transport;
  version: string;
  /** Called for every failed try. */
  recordDecision?: (decision: { word: 'call-failed'; peer: Responder; error: string }) => void;
}

/** The HTTP client for both services. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const sendBy = createSender(options);
  const startCall = (call: HttpCall, limit: AbortSignal): RunningCall => {
    const party = partyOf(options.settings, call);
    const traceFailure = (error: string) => options.recordDecision?.({ word: 'call-failed', peer: party.peer, error });
    return { call, limit, party, traceFailure, clockFiles: clockFilesOf(options.settings) };
  };
  return {
    call: (call) => {
      const { signal: limit, lift } = timeLimit(options.settings.http_timeout_s);
      const running = startCall(call, limit);
      return withRetries(running, async (signal) => {
        const reply = await sendBy(open, call, signal);
        if (!isAccepted(running, reply)) return replyErrorOf(running, reply);
        return { ...reply, json: await readReplyJson(call, reply, lift) };
      });
    },
    stream: (call, limit) => {
      const running = startCall(call, limit);
      return withRetries(running, async (signal) => {
        // loading got takes as long as a whole tick
        const client = await import('../../core/httpClient.ts');
        const reply = await sendBy((request) => client.open(request).catch(throwCause), call, signal);
        if (!isAccepted(running, reply)) return replyErrorOf(running, reply);
        return {
          ...reply,
          peerLabel: formatPeer(running.party),
          body: translateBodyErrors(running, reply.body),
          discard: () => void reply.body.destroy(),
        };
      });
    },
  };
}

/**
 * A time limit for all tries of a call. `lift` clears its timer, so that nothing is left when the response is complete.
 */
function timeLimit(seconds: number): { signal: AbortSignal; lift: () => void } {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), seconds * 1000).unref();
  return { signal: limit.signal, lift: () => clearTimeout(timer) };
}

async function withRetries<T extends object>(
  running: RunningCall,
  attempt: (signal: AbortSignal) => Promise<T | CallError>,
): Promise<T> {
  const signal = AbortSignal.any([running.call.signal, running.limit]);
  for (let tries = 1; ; tries++) {
    const result = await attempt(signal).catch((error: unknown) => callErrorOf(running, error));
    if (!('peer' in result)) return result;
    const delayMs = tries === running.call.tries ? null : callBackoffMs(result, tries, Math.random());
    if (delayMs === null || signal.aborted) throw classifyError(result);
    await sleep(delayMs, undefined, { signal }).catch((error: unknown) => {
      throw classifyError(running.call.signal.aborted ? callErrorOf(running, error) : result);
    });
  }
}

/** An ignored body drains in the background, within the limit of the call, so that the connection can be reused. */
async function readReplyJson(
  { ignoresBody, maxBytes }: HttpCall,
  { body }: OpenAnswer,
  lift: () => void,
): Promise<unknown> {
  if (ignoresBody) return void body.once('close', lift).resume();
  const json = await readJsonBody(body, maxBytes ?? defaultMaxBytes);
  lift();
  return json;
}

/** The bytes of a body; its errors are thrown as faults. */
async function* translateBodyErrors(running: RunningCall, body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    throw classifyError(callErrorOf(running, error));
  }
}

/** A fault of the transport is passed on unchanged. */
function throwCause(error: unknown): never {
  throw (error as Error).cause instanceof Fault ? (error as Error).cause : error;
}

function isAccepted({ call }: RunningCall, { status }: OpenAnswer): boolean {
  return (status >= 200 && status < 300) || (call.accepts?.includes(status) ?? false);
}

const defaultMaxBytes = 1_048_576;

/** A running call, with all its tries. */
interface RunningCall {
  call: HttpCall;
  limit: AbortSignal;
  party: { peer: Responder; origin: string };
  traceFailure: (error: string) => void;
  clockFiles: ClockFiles;
}

type ClockSettings = Pick<Settings, 'state_dir' | 'tenancy_ca' | 'secretstore_ca'>;

/** Shows a wrong clock of this host, if no server is trusted. */
export function clockFilesOf({ state_dir, tenancy_ca, secretstore_ca }: ClockSettings): ClockFiles {
  return { written: [`${state_dir}/state.json`], authorities: [tenancy_ca, secretstore_ca] };
}

/** The sender of a response: the peer itself only when the URL has the peer's own origin. */
function partyOf(settings: Settings, { peer, path }: HttpCall): RunningCall['party'] {
  const ownOrigin = new URL(peer === 'tenancy' ? settings.tenancy_url : settings.secretstore_url).origin;
  const origin = path instanceof URL ? path.origin : ownOrigin;
  return { peer: origin === ownOrigin ? peer : 'storage', origin };
}

function callErrorOf(running: RunningCall, error: unknown): CallError {
  if (error instanceof Fault) throw error;
  const code = callErrorCode(running, error);
  if (code === 'TOO_LARGE' && running.call.tooLarge) throw running.call.tooLarge;
  if (code !== 'STOPPED') running.traceFailure(code);
  const untrusted = untrustedOf(error, running.clockFiles);
  return { ...running.party, operation: running.call.operation, error: code, ...(untrusted && { untrusted }) };
}

function callErrorCode({ call, limit }: RunningCall, error: unknown): string {
  if (call.signal.aborted) return 'STOPPED';
  if (limit.aborted) return limit.reason === 'STALLED' ? 'STALLED' : 'TIMEOUT';
  return errorCodeOf(error) ?? 'UNKNOWN';
}

async function replyErrorOf(running: RunningCall, { status, headers, body }: OpenAnswer): Promise<CallError> {
  const { operation } = running.call;
  const json = await readJsonBody(body, maxErrorBodyBytes).catch(() => undefined);
  if (running.call.signal.aborted) return { ...running.party, operation, error: 'STOPPED' };
  running.traceFailure(`HTTP_${status}`);
  const retryAfterS = parseRetryAfter(headers, Date.now());
  return { ...running.party, operation, status, ...parseErrorBody(json), retryAfterS };
}

/** Maximum bytes read of an error body. */
const maxErrorBodyBytes = 65_536;
