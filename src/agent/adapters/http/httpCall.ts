import type { Fault } from '../../../../machines/fault.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';

/**
 * One HTTP call. `operation` names it in messages; a URL as `path` is used as it is, a string is appended to the peer's base
 * URL.
 */
export interface HttpCall {
  peer: Peer;
  operation: string;
  method: 'GET' | 'POST';
  path: string | URL;
  requestId: string;
  /** Aborted by SIGTERM; the call then throws the fault `stopped`. */
  signal: AbortSignal;
  body?: object;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Statuses besides 2xx that the caller handles; all others are thrown as faults. */
  accepts?: readonly number[];
  /** The caller needs only the status: the body is not waited for. */
  ignoresBody?: true;
  /** Maximum number of tries, 3 by default. */
  tries?: number;
  /** Maximum size of the response in bytes, 1 MiB by default. */
  maxBytes?: number;
  /** The fault for a larger response; PROTOCOL_INVALID by default. */
  tooLarge?: Fault;
}
