import type { Readable } from 'node:stream';

/** Bytes `start` to `end`, both included, as in an HTTP range. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Where archives of bundles are kept, by their sha256. Each call throws `PeerError` if the storage cannot be used. */
export interface BundleStorage {
  /** Keeps an archive durably from a file of this host, which the caller removes; one that is there already is kept. */
  store: (sha256: string, file: string) => Promise<void>;
  /** The bytes of an archive, or a range of them; null if it is not kept. */
  open: (sha256: string, range?: ByteRange) => Promise<Readable | null>;
  /** Removes an archive; one that is unknown is taken for removed. */
  remove: (sha256: string) => Promise<void>;
  /** Throws unless archives can be written. */
  check: () => Promise<void>;
}
