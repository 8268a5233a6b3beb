import type { BundleClaim, BundleTrust } from './bundleTrust.ts';
import { readSignature } from './readSignature.ts';
import { SignatureFault } from './signatureFault.ts';
import { openVerifier, reasonOf, type SignatureVerifier } from './signatureVerifier.ts';
import { statementIn } from './statement.ts';

/** A signature that is genuine, by somebody who is trusted, of the archive. */
export interface VerifiedSignature {
  /** `key SHA256:…`, or subject and issuer of an identity. */
  signer: string;
  claim: BundleClaim;
}

/** The genuine signatures, and why each of the others is not accepted. */
export interface Verification {
  verified: VerifiedSignature[];
  faults: string[];
}

/** Verifies signatures of the archive with this sha256 (hex), offline (spec §18). */
export function verifySignatures(trust: BundleTrust, sha256: string, signatures: readonly unknown[]): Verification {
  const verifier = openVerifier(trust);
  if (verifier === null) return { verified: [], faults: ['the trust root is damaged'] };
  const [verified, faults]: [VerifiedSignature[], string[]] = [[], []];
  for (const [index, signature] of signatures.entries()) {
    try {
      verified.push(verify(signature, sha256, verifier));
    } catch (error) {
      faults.push(`signature ${index + 1}: ${reasonOf(error)}`);
    }
  }
  return { verified, faults };
}

function verify(json: unknown, sha256: string, verifier: SignatureVerifier): VerifiedSignature {
  const signature = readSignature(json);
  const statement = statementIn(signature);
  if (statement.sha256 !== sha256) throw new SignatureFault(`it is of another archive (${statement.sha256})`);
  return { signer: verifier.signerOf(signature), claim: statement.claim };
}
