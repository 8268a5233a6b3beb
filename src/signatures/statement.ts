import type { Bundle } from '@sigstore/bundle';
import type { ErrorObject } from 'ajv';
import { duplicateKeys } from '../protocol/duplicateKeys.ts';
import { printable } from '../protocol/printable.ts';
import type { BundleClaim } from './bundleTrust.ts';
import { statementType } from './formats.ts';
import { readSignature } from './readSignature.ts';
import { SignatureFault } from './signatureFault.ts';
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
export function statementIn({ content }: Bundle): Statement {
  if (content.$case !== 'dsseEnvelope') throw new SignatureFault('it signs a digest alone, and not a statement');
  const { payload, payloadType } = content.dsseEnvelope;
  if (payloadType !== statementType)
    throw new SignatureFault(`its payload is ${printable(payloadType)}, not an in-toto statement`);
  const text = payload.toString('utf8');
  const json = parseJson(text);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${printable(duplicate)} stands twice in its statement`);
  if (!validate(json)) throw new SignatureFault(`its statement is not one about a bundle: ${schemaErrors()}`);
  const { subject, predicate } = json as { subject: [{ digest: { sha256: string } }]; predicate: BundleClaim };
  return { sha256: subject[0].digest.sha256, claim: predicate };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SignatureFault('its statement is not JSON');
  }
}

function schemaErrors(): string {
  return (validate.errors ?? []).map(formatSchemaError).join('; ');
}

function formatSchemaError({ instancePath, message = '', params }: ErrorObject): string {
  const key: unknown = params['additionalProperty'];
  const where = [printable(instancePath), message].filter((part) => part !== '').join(' ');
  return typeof key === 'string' ? `${where} (${printable(key)})` : where;
}
