import type { Readable } from 'node:stream';
import type { TransportError } from '../../core/http.rules.ts';
import { certificateCure } from '../../core/untrusted.rules.ts';

/** Bytes `start` to `end`, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Storage of bundles' archives, by their sha256. Each call throws `PeerError` if the storage cannot be used. */
export interface BundleStorage {
  /** Stores a local file as an archive durably, replacing an existing one; the caller deletes the file. */
  store: (sha256: string, file: string) => Promise<void>;
  /**
   * Returns the bytes of an archive, or a range of them, which the caller must read to the end or destroy; null if it
   * is not stored. An archive that is removed meanwhile can still be read to its end.
   */
  open: (sha256: string, range?: ByteRange) => Promise<Readable | null>;
  /**
   * Returns a URL from which anyone can read an archive for some minutes, so it is a secret; null if the storage does
   * not support links.
   */
  link: (sha256: string) => Promise<string | null>;
  /** Removes an archive; an unknown one counts as removed. */
  remove: (sha256: string) => Promise<void>;
  /** Throws unless archives can be written. */
  check: () => Promise<void>;
}

/** The name of an archive in its storage. Throws a TypeError if the argument is not a digest, which would be a bug. */
export function archiveName(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new TypeError('not a sha256 digest');
  return sha256;
}

/** The error of a call that failed. */
export function storageError(doing: 'store' | 'read' | 'link to' | 'remove' | 'check', reason: string): PeerError {
  return new PeerError('bundle storage', `cannot ${doing}: ${reason}`);
}

/** Why a peer could not be called; `authorities` says where those that it is trusted by are configured. */
export function reasonOf({ code, untrusted }: TransportError, authorities: string): string {
  return untrusted === null ? code : `${untrusted.problem}: ${certificateCure(untrusted, authorities)}`;
}

/** A peer of the service cannot be used; the message names the peer, the call and the reason, and never a secret. */
export class PeerError extends Error {
  readonly peer: 'secretstore' | 'bundle storage' | 'mesh controller' | 'identity provider';
  /** Seconds after which the peer may be tried again. */
  readonly retryAfterS: number;

  constructor(peer: PeerError['peer'], message: string, retryAfterS = 5) {
    super(`${peer}: ${message}`);
    this.name = 'PeerError';
    this.peer = peer;
    this.retryAfterS = retryAfterS;
  }
}
