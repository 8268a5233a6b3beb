import type { Fault } from '../../../../machines/fault.ts';
import type { Peer } from '../../rules/errors/classifyError.ts';

/** One call, named for people by `what`; a URL as `path` stands for itself, a string is appended to the peer's base. */
export interface Call {
  peer: Peer;
  what: string;
  method: 'GET' | 'POST';
  path: string | URL;
  requestId: string;
  /** Aborted by SIGTERM: the call then throws the fault `stopped`. */
  signal: AbortSignal;
  body?: object;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Statuses besides 2xx that the caller wants to read itself; all others are thrown as faults, sorted. */
  accepts?: readonly number[];
  /** True when the status says it all: the body is not waited for. */
  ignoresBody?: true;
  /** How often it is tried at most, 3 unless given. */
  tries?: number;
  /** Longest answer in bytes, 1 MiB unless given. */
  maxBytes?: number;
  /** What a longer one means; PROTOCOL_INVALID unless given. */
  tooLarge?: Fault;
}
