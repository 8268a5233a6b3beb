import type { Readable } from 'node:stream';
import type { TransportError } from '../../core/http.rules.ts';
import { certificateCure } from '../../core/untrusted.rules.ts';

/** Bytes `start` to `end`, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where archives of bundles are kept, by their sha256. Each call throws `PeerError` if the storage cannot be used. */
export interface BundleStorage {
  /** Keeps an archive durably from a file of this host, which the caller removes; one that is there already is replaced. */
  store: (sha256: string, file: string) => Promise<void>;
  /**
   * The bytes of an archive, or a range of them, which the caller reads to the end or destroys; null if it is not kept.
   * An archive that is removed meanwhile is read to its end.
   */
  open: (sha256: string, range?: ByteRange) => Promise<Readable | null>;
  /**
   * A URL at which an archive can be read for some minutes by whoever has it, which makes it a secret; null where the
   * storage gives none.
   */
  link: (sha256: string) => Promise<string | null>;
  /** Removes an archive; one that is unknown is taken for removed. */
  remove: (sha256: string) => Promise<void>;
  /** Throws unless archives can be written. */
  check: () => Promise<void>;
}

/** The name of an archive in its storage. Throws a TypeError for anything but a digest, which would be a bug. */
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

/** A peer of the service that cannot be used; the message names peer, call and reason, and never a secret. */
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
