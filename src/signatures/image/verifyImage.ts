import type { BundleTrust } from '../bundleTrust.ts';
import { readSignature } from '../readSignature.ts';
import { SignatureFault } from '../signatureFault.ts';
import { openVerifier, reasonOf, type SignatureVerifier } from '../signatureVerifier.ts';
import { formatSchemaErrors, parseStrictly, statementJsonIn } from '../statementJson.ts';
import type { ImageSignature, SimpleSignature } from './imageSignature.ts';
import { validate } from './imageStatementValidator.ts';
import { bundleOf, digestSigned, readAnnotations } from './simpleSigning.ts';

/** Who signed an image, each once and sorted, and why each of the other signatures is not accepted. */
export interface ImageVerification {
  signers: string[];
  faults: string[];
}

/** Verifies signatures of the image with this digest (`sha256:…`), offline (spec §18). */
export function verifyImage(
  trust: BundleTrust,
  digest: string,
  signatures: readonly ImageSignature[],
): ImageVerification {
  const verifier = openVerifier(trust);
  if (verifier === null) return { signers: [], faults: ['the trust root is damaged'] };
  const [signers, faults] = [new Set<string>(), new Array<string>()];
  for (const [index, signature] of signatures.entries()) {
    try {
      signers.add(
        'bundle' in signature ? ofBundle(signature.bundle, digest, verifier) : ofSimple(signature, digest, verifier),
      );
    } catch (error) {
      faults.push(`signature ${index + 1}: ${reasonOf(error)}`);
    }
  }
  return { signers: [...signers].sort(), faults };
}

function ofBundle(bundle: Buffer, digest: string, verifier: SignatureVerifier): string {
  const signature = readSignature(parseStrictly(bundle.toString('utf8'), 'its Sigstore bundle'));
  const statement = statementJsonIn(signature);
  if (!validate(statement))
    throw new SignatureFault(`its statement is not one about an image: ${formatSchemaErrors(validate)}`);
  const { subject } = statement as { subject: [{ digest: { sha256: string } }] };
  requireDigest(`sha256:${subject[0].digest.sha256}`, digest);
  return verifier.signerOf(signature);
}

/** Such a signature does not name its key: each that is trusted is tried. */
function ofSimple(signature: SimpleSignature, digest: string, verifier: SignatureVerifier): string {
  requireDigest(digestSigned(signature.payload), digest);
  const { certificate } = readAnnotations(signature);
  if (certificate !== null) return verifier.signerOf(bundleOf(signature, ''), signature.payload);
  for (const hint of verifier.keys.keys()) {
    const signer = signerOrNull(() => verifier.signerOf(bundleOf(signature, hint), signature.payload));
    if (signer !== null) return signer;
  }
  throw new SignatureFault('it is by no key that is trusted');
}

function requireDigest(signed: string, digest: string): void {
  if (signed !== digest) throw new SignatureFault(`it is of another image (${signed})`);
}

/** Null when the signature is not by the key that was tried; other faults are thrown. */
function signerOrNull(verify: () => string): string | null {
  try {
    return verify();
  } catch (error) {
    if ((error as { code?: string }).code === 'SIGNATURE_ERROR') return null;
    throw error;
  }
}
