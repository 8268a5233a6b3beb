import type { TrustSettings } from '../api/trust.rules.ts';
import { readRegularFile } from '../core/files.ts';
import { type BundleTrust, readPublicKey, rootEnds } from './trust.ts';

/** A trust with its files read, and one line for each file that cannot be used. */
export interface ReadTrust {
  trust: BundleTrust;
  problems: string[];
}

const maxKeyBytes = 65_536;
const maxRootBytes = 4 * 2 ** 20;

/**
 * Reads the files of `trust.bundles` or `trust.images` (spec §18). A file that cannot be used is left out: it adds no
 * trusted signer.
 */
export function readTrust({ threshold = 1, keys = [], identities = [], root }: TrustSettings): ReadTrust {
  const read = keys.map((path) => readTrusted(path, maxKeyBytes, keyProblem));
  const readRoot = root === undefined ? { text: null, problem: null } : readTrusted(root, maxRootBytes, rootProblem);
  const trust = { threshold, keys: read.flatMap(({ text }) => text ?? []), identities, root: readRoot.text };
  return { trust, problems: [...read, readRoot].flatMap(({ problem }) => problem ?? []) };
}

interface TrustedFile {
  text: string | null;
  problem: string | null;
}

function readTrusted(path: string, maxBytes: number, problemOf: (text: string) => string | null): TrustedFile {
  try {
    const text = readRegularFile(path, maxBytes).toString('utf8');
    const problem = problemOf(text);
    return problem === null ? { text, problem } : { text: null, problem: `${path} ${problem}` };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { text: null, problem: code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${code})` };
  }
}

function keyProblem(pem: string): string | null {
  const key = readPublicKey(pem);
  return typeof key === 'string' ? key : null;
}

function rootProblem(text: string): string | null {
  try {
    const { mediaType } = Object(JSON.parse(text)) as { mediaType?: unknown };
    if (!String(mediaType).startsWith(rootMediaType)) return 'is not a Sigstore trust root';
  } catch {
    return 'is not JSON';
  }
  try {
    rootEnds(text);
    return null;
  } catch {
    return 'is a damaged trust root';
  }
}

/** Of version 0.1 in two spellings, and 0.2. */
const rootMediaType = 'application/vnd.dev.sigstore.trustedroot';
