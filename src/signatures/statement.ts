import type { Bundle } from '@sigstore/bundle';
import type { BundleClaim } from './bundleTrust.ts';
import { readSignature } from './readSignature.ts';
import { SignatureFault } from './signatureFault.ts';
import { formatSchemaErrors, statementJsonIn } from './statementJson.ts';
import { validate } from './statementValidator.ts';

/** A statement about a bundle: the sha256 of its archive in hex, and what is claimed of it. */
export interface Statement {
  sha256: string;
  claim: BundleClaim;
}

/**
 * What a signature says; the signature itself is not verified. Throws `SignatureFault` for what is no Sigstore bundle with an
 * in-toto statement about a bundle (spec §18).
 */
export function statementOf(signature: unknown): Statement {
  return statementIn(readSignature(signature));
}

/** The same of a parsed Sigstore bundle. */
export function statementIn(bundle: Bundle): Statement {
  const json = statementJsonIn(bundle);
  if (!validate(json))
    throw new SignatureFault(`its statement is not one about a bundle: ${formatSchemaErrors(validate)}`);
  const { subject, predicate } = json as { subject: [{ digest: { sha256: string } }]; predicate: BundleClaim };
  return { sha256: subject[0].digest.sha256, claim: predicate };
}
