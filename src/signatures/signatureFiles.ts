import { signatureLimits, type TrustSettings } from '../api/trust.rules.ts';
import { readRegularFile } from '../core/files.ts';
import { duplicateKeys } from '../core/json.rules.ts';
import { printable } from '../core/text.rules.ts';
import { judgeClaims, SignatureFault, type SignatureJudgement } from './judgement.rules.ts';
import { type BundleClaim, type BundleTrust, readPublicKey, rootEnds } from './trust.ts';

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

/** The content of an archive's manifest, and the sha256 of the archive in hex. */
type SignedArchive = BundleClaim & { sha256: string };

/** Verifies the signatures in files as a host with this trust does (spec §18); a file that cannot be read is a fault. */
export async function judgeFiles(
  { trust, problems }: ReadTrust,
  archive: SignedArchive,
  files: readonly string[],
): Promise<SignatureJudgement> {
  const { signatures, unreadable } = readFiles(files);
  const { verifySignatures } = await import('./verifySignatures.ts');
  const { verified, faults } = verifySignatures(trust, archive.sha256, signatures);
  return judgeClaims({ verified, faults: [...faults, ...unreadable, ...problems] }, archive, trust.threshold);
}

function readFiles(files: readonly string[]): { signatures: unknown[]; unreadable: string[] } {
  const [signatures, unreadable]: [unknown[], string[]] = [[], []];
  for (const file of files) {
    try {
      signatures.push(readSignatureFile(file));
    } catch (error) {
      if (!(error instanceof SignatureFault)) throw error;
      unreadable.push(error.message);
    }
  }
  return { signatures, unreadable };
}

/** White space between the fields counts in a file only. */
const maxFileBytes = 4 * signatureLimits.bytes;

/** Reads the file of one signature as JSON; it is not verified. Throws `SignatureFault`, which names the file. */
export function readSignatureFile(path: string): unknown {
  const text = readText(path);
  const json = parseJson(path, text);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${path}: ${printable(duplicate)} stands twice`);
  return json;
}

function readText(path: string): string {
  try {
    return readRegularFile(path, maxFileBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new SignatureFault(code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${code})`);
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SignatureFault(`${path} is not JSON`);
  }
}
