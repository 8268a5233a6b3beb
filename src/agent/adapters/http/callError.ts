import { Fault } from '../../../../machines/fault.ts';
import { parseErrorBody, parseRetryAfter } from '../../../core/http.rules.ts';
import type { OpenAnswer } from '../../../core/nodeClient.ts';
import type { Settings } from '../../config/settings.ts';
import type { CallError, Responder } from '../../rules/errors/classifyError.ts';
import type { HttpCall } from './httpCall.ts';
import { errorCodeOf } from './httpRequest.ts';
import { readJsonBody } from './jsonBody.ts';

/** A running call, with all its tries. */
export interface RunningCall {
  call: HttpCall;
  limit: AbortSignal;
  party: { peer: Responder; origin: string };
  traceFailure: (error: string) => void;
}

/** Who responds: the peer itself only when the URL has the peer's own origin. */
export function partyOf(settings: Settings, { peer, path }: HttpCall): RunningCall['party'] {
  const ownOrigin = new URL(peer === 'tenancy' ? settings.tenancy_url : settings.secretstore_url).origin;
  const origin = path instanceof URL ? path.origin : ownOrigin;
  return { peer: origin === ownOrigin ? peer : 'storage', origin };
}

export function callErrorOf(running: RunningCall, error: unknown): CallError {
  if (error instanceof Fault) throw error;
  const code = callErrorCode(running, error);
  if (code === 'TOO_LARGE' && running.call.tooLarge) throw running.call.tooLarge;
  if (code !== 'STOPPED') running.traceFailure(code);
  return { ...running.party, operation: running.call.operation, error: code };
}

function callErrorCode({ call, limit }: RunningCall, error: unknown): string {
  if (call.signal.aborted) return 'STOPPED';
  if (limit.aborted) return limit.reason === 'STALLED' ? 'STALLED' : 'TIMEOUT';
  return errorCodeOf(error) ?? 'UNKNOWN';
}

export async function replyErrorOf(running: RunningCall, { status, headers, body }: OpenAnswer): Promise<CallError> {
  const { operation } = running.call;
  const json = await readJsonBody(body, maxErrorBodyBytes).catch(() => undefined);
  if (running.call.signal.aborted) return { ...running.party, operation, error: 'STOPPED' };
  running.traceFailure(`HTTP_${status}`);
  const retryAfterS = parseRetryAfter(headers, Date.now());
  return { ...running.party, operation, status, ...parseErrorBody(json), retryAfterS };
}

/** Maximum bytes read of an error body. */
const maxErrorBodyBytes = 65_536;
