import { readRegularFile } from '../core/files.ts';
import { duplicateKeys } from '../core/json.rules.ts';
import { printable } from '../core/text.rules.ts';
import { signatureLimits } from '../api/trust.rules.ts';
import { judgeClaims, SignatureFault, type SignatureJudgement } from './judgement.rules.ts';
import type { ReadTrust } from './readTrust.ts';
import type { BundleClaim } from './trust.ts';

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
