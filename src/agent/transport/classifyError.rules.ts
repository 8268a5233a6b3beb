import { failedFault, Fault, offlineFault, stoppedFault } from '../../../machines/fault.ts';
import { tenancyErrorCodes } from '../../api/checkIn.rules.ts';
import { describeErrorCode, errorClassOf } from '../../core/errors.rules.ts';
import { isLaggingNode } from '../../core/http.rules.ts';
import { certificateCure, systemAuthorities, type Untrusted } from '../../core/untrusted.rules.ts';

/** The two services that the agent calls. */
export type Peer = 'tenancy' | 'secretstore';

/** The sender of a response: a peer, or the storage host to which the tenancy service redirected a bundle download. */
export type Responder = Peer | 'storage';

/** Why a call failed: a transport error, or a response that the caller cannot use. `operation` names the call. */
export type CallError = { peer: Responder; origin: string; operation: string } & (TransportError | ErrorResponse);

/** `error` is an errno, OpenSSL or HTTP parser code, or one of the agent: STOPPED, TIMEOUT, STALLED, TOO_LARGE. */
interface TransportError {
  error: string;
  /** Why the certificate is not trusted, for an error that says so. */
  untrusted?: Untrusted;
}

/** `code` and `text` come from the error body, null without them. */
interface ErrorResponse {
  status: number;
  code: string | null;
  text: string | null;
  /** Seconds of the Retry-After header, null without one. */
  retryAfterS: number | null;
}

/** Names of the peers in journal lines and output. */
export const peerNames: Record<Responder, string> = {
  tenancy: 'tenancy service',
  secretstore: 'secretstore',
  storage: 'storage host',
};

/** Ports on which `deployd-proxy.service` listens (spec §3). */
export const proxyPorts = { tenancy: 18443, secretstore: 18200 } as const satisfies Partial<Record<Responder, number>>;

/** Classifies a failed call as the fault that ends the tick (spec §9, §11). A 401 of the tenancy service is decided here. */
export function classifyError(callError: CallError): Fault {
  return 'error' in callError ? classifyTransportError(callError) : classifyStatus(callError);
}

function classifyTransportError(callError: CallError & TransportError): Fault {
  const { error } = callError;
  const where = formatPeer(callError);
  if (error === 'STOPPED') return stoppedFault();
  switch (errorClassOf(error)) {
    case 'untrusted':
      return untrustedFault(callError, where);
    case 'protocol':
      return failedFault('PROTOCOL_INVALID', `${where}: ${callError.operation}: ${describeErrorCode(error)}`);
    case 'temporary':
      return offlineFault(`${where}: ${describeErrorCode(error)}`);
    case 'bug':
      return new Fault('failed', `failed: ${callError.operation} cannot be sent to the ${where} (${error})`, {
        code: 'INTERNAL',
      });
  }
}

function untrustedFault({ peer, error, untrusted }: CallError & TransportError, where: string): Fault {
  if (untrusted === undefined) return failedFault('TLS_UNTRUSTED', `${where}: ${describeErrorCode(error)}`);
  const cure = certificateCure(untrusted, peer === 'storage' ? systemAuthorities : `${peer}_ca`);
  const line = `TLS_UNTRUSTED: ${where}: ${untrusted.problem}: ${cure}`;
  return new Fault('failed', line, { code: 'TLS_UNTRUSTED', certificate: { cure, authority: untrusted.authority } });
}

function classifyStatus(callError: CallError & ErrorResponse): Fault {
  const { peer, status, code, retryAfterS } = callError;
  // exit 1 and no report (machines/endings.ts); the token stays and is not renewed (src/agent/token/token.ts)
  if (peer === 'tenancy' && status === 401) {
    return fatalFault('unauthenticated', 'AGENT_UNAUTHENTICATED', 'bearer refused');
  }
  if (peer === 'tenancy' && (status === 403 || status === 409) && code === tenancyErrorCodes.envMismatch) {
    return fatalFault('envMismatch', code, callError.text ?? 'the token belongs to another environment');
  }
  if (peer === 'tenancy' && status === 409 && code === tenancyErrorCodes.cloned) {
    return new Fault('failed', `${code}: ${callError.text ?? 'another host uses the token of this host'}`, { code });
  }
  const where = formatPeer(callError);
  if (peer === 'secretstore' && status === 307) return offlineFault(`${where}: the node is a standby (307)`);
  const answered = `${where}: ${callError.operation} answered ${status}${formatErrorMessage(callError)}`;
  const isPassing = isTemporary(status) || (peer === 'secretstore' && isLaggingNode(status));
  return isPassing ? offlineFault(answered, { retryAfterS }) : failedFault('PROTOCOL_INVALID', answered);
}

function fatalFault(ending: 'unauthenticated' | 'envMismatch', code: string, detail: string): Fault {
  return new Fault(ending, `${code}: ${detail}`, { code });
}

function isTemporary(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600);
}

/** `tenancy service https://…`: a peer with its origin. */
export function formatPeer({ peer, origin }: Pick<CallError, 'peer' | 'origin'>): string {
  return `${peerNames[peer]} ${origin}`;
}

function formatErrorMessage({ code, text }: ErrorResponse): string {
  const message = [code, text].filter((part) => part !== null).join(': ');
  return message === '' ? '' : ` (${message})`;
}

/**
 * Milliseconds until a failed call is retried within the tick, null when it is not; `random` is in [0, 1). A Retry-After is
 * prolonged at random, by up to its own length, because many hosts may have received the same date.
 */
export function callBackoffMs(error: CallError, attempts: number, random: number): number | null {
  if (attempts > maxRetries || classifyError(error).ending !== 'offline') return null;
  const requestedS = 'retryAfterS' in error ? (error.retryAfterS ?? 0) : 0;
  if (requestedS > maxRetryAfterS) return null;
  return requestedS * (1 + random) * 1000 + firstDelayMs * 2 ** (attempts - 1) * (0.5 + random);
}

/** Two short retries within a tick; the third is the next tick. */
const maxRetries = 2;
/** Seconds; a longer Retry-After is left to the next tick. */
const maxRetryAfterS = 10;
const firstDelayMs = 250;
