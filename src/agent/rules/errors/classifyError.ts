import { failure, Fault, offline, stopped } from '../../../../machines/fault.ts';
import { judgeError, tellError } from './errorCodes.ts';

/** The two services that the agent calls. */
export type Peer = 'tenancy' | 'secretstore';

/** Who answers: one of the two, or another origin that the tenancy service redirected the download of a bundle to. */
export type Party = Peer | 'storage';

/** What went wrong with one call: an error on the way, or an answer that the caller cannot use. */
export type Trouble = { peer: Party; origin: string; what: string } & (Mishap | Refused);

/** `error` is an errno, OpenSSL or HTTP parser code, or one of our own: STOPPED, TIMEOUT, STALLED, TOO_LARGE. */
interface Mishap {
  error: string;
}

/** `code` and `text` are the server's own words, null where it said nothing. */
interface Refused {
  status: number;
  code: string | null;
  text: string | null;
  /** Seconds that the server asks to wait, null without a Retry-After. */
  retryAfterS: number | null;
}

/** How peers are called in lines for people. */
export const peerNames: Record<Party, string> = {
  tenancy: 'tenancy service',
  secretstore: 'secretstore',
  storage: 'storage host',
};

/** What each trouble of a call means for the tick: the one place that sorts them (spec §9, §11). */
export function sortTrouble(trouble: Trouble): Fault {
  return 'error' in trouble ? sortError(trouble) : sortStatus(trouble);
}

/**
 * Milliseconds until another try makes sense, null when it does not; `random` is in [0, 1). A Retry-After may be a date that
 * many were given, so they come back spread over as long again.
 */
export function retryPauseMs(trouble: Trouble, tries: number, random: number): number | null {
  if (tries > maxRetries || sortTrouble(trouble).ending !== 'offline') return null;
  const asked = 'retryAfterS' in trouble ? (trouble.retryAfterS ?? 0) : 0;
  if (asked > longestRetryAfterS) return null;
  return asked * (1 + random) * 1000 + firstPauseMs * 2 ** (tries - 1) * (0.5 + random);
}

/**
 * Seconds that a Retry-After header asks for, as a number or a date by the server's own clock, which this host's stands in
 * for where the answer has no Date; null when it is absent or nonsense.
 */
export function retryAfterOf(headers: Asking, nowMs: number): number | null {
  const { 'retry-after': asked, date } = headers;
  if (asked === undefined) return null;
  if (/^\d{1,9}$/.test(asked.trim())) return Number(asked);
  const at = Date.parse(asked);
  return Number.isNaN(at) ? null : Math.max(0, (at - (Date.parse(date ?? '') || nowMs)) / 1000);
}

/** What an answer's head says of when to come again. */
interface Asking {
  'retry-after'?: string | undefined;
  date?: string | undefined;
}

/** Two short retries within a tick; the next tick is the third. */
const maxRetries = 2;
/** Seconds; a server that asks for more is left in peace until the next tick. */
const longestRetryAfterS = 10;
const firstPauseMs = 250;

function sortError(trouble: Trouble & Mishap): Fault {
  const { error } = trouble;
  const where = placeOf(trouble);
  if (error === 'STOPPED') return stopped();
  switch (judgeError(error)) {
    case 'mistrust':
      return failure('TLS_UNTRUSTED', `${where}: ${tellError(error)}`);
    case 'protocol':
      return failure('PROTOCOL_INVALID', `${where}: ${trouble.what}: ${tellError(error)}`);
    case 'temporary':
      return offline(`${where}: ${tellError(error)}`);
    case 'bug':
      return new Fault('failed', `failed: ${trouble.what} cannot be sent to the ${where} (${error})`, {
        code: 'INTERNAL',
      });
  }
}

function sortStatus(trouble: Trouble & Refused): Fault {
  const { peer, status, code, retryAfterS } = trouble;
  if (peer === 'tenancy' && status === 401) {
    return fatal('unauthenticated', 'AGENT_UNAUTHENTICATED', 'bearer refused');
  }
  if (peer === 'tenancy' && (status === 403 || status === 409) && code === 'AGENT_ENV_MISMATCH') {
    return fatal('envMismatch', 'AGENT_ENV_MISMATCH', trouble.text ?? 'the token belongs to another env');
  }
  const where = placeOf(trouble);
  if (peer === 'secretstore' && status === 307) return offline(`${where}: the node is a standby (307)`);
  const answered = `${where}: ${trouble.what} answered ${status}${wordsOf(trouble)}`;
  return isTemporary(status) ? offline(answered, { retryAfterS }) : failure('PROTOCOL_INVALID', answered);
}

function fatal(ending: 'unauthenticated' | 'envMismatch', code: string, detail: string): Fault {
  return new Fault(ending, `${code}: ${detail}`, { code });
}

function isTemporary(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status < 600);
}

/** Who it was, as lines for people name him. */
export function placeOf({ peer, origin }: Pick<Trouble, 'peer' | 'origin'>): string {
  return `${peerNames[peer]} ${origin}`;
}

function wordsOf({ code, text }: Refused): string {
  const words = [code, text].filter((word) => word !== null).join(': ');
  return words === '' ? '' : ` (${words})`;
}
