import { bundleMediaType } from '../formats.ts';
import { readPublicKey } from '../publicKey.ts';
import { SignatureFault } from '../signatureFault.ts';
import type { Statement } from '../statement.ts';
import { verifySignatures } from '../verifySignatures.ts';
import { signEnvelope } from './envelope.ts';
import type { Signer } from './signer.ts';

/** A new signature. */
export interface NewSignature {
  /** A Sigstore bundle v0.3, to be written as JSON. */
  signature: unknown;
  /** As hosts name the signer: `key SHA256:…`, or subject and issuer. */
  signer: string;
}

/**
 * Signs what is stated of a bundle as `cosign attest-blob --new-bundle-format` does (spec §18), and verifies the signature as
 * a host would. Throws a `SignatureFault` where it is not by the signer's key.
 */
export async function signBundle(statement: Statement, { publicKey, sign }: Signer): Promise<NewSignature> {
  const key = readPublicKey(publicKey);
  if (typeof key === 'string') throw new SignatureFault(`the public key ${key}`);
  const dsseEnvelope = await signEnvelope(statement, sign);
  const verificationMaterial = { publicKey: { hint: key.hint } };
  const signature = { mediaType: bundleMediaType, verificationMaterial, dsseEnvelope };
  const trust = { threshold: 1, keys: [publicKey], identities: [], root: null };
  const { verified } = verifySignatures(trust, statement.sha256, [signature]);
  if (verified[0] === undefined) throw new SignatureFault('it is not a signature by the public key');
  return { signature, signer: verified[0].signer };
}
