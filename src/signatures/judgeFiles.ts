import type { BundleClaim } from './bundleTrust.ts';
import { judgeClaims, type SignatureJudgement } from './judgeClaims.ts';
import { readSignatureFile } from './readSignatureFile.ts';
import type { ReadTrust } from './readTrust.ts';
import { SignatureFault } from './signatureFault.ts';

/** What the manifest of an archive says, and the sha256 of the archive in hex. */
export type SignedArchive = BundleClaim & { sha256: string };

/** Judges the signatures in files as a host with this trust does (spec §18); a file that cannot be read is a fault. */
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
