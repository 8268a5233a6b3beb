import type { Bundle } from '@sigstore/bundle';
import type { ErrorObject } from 'ajv';
import { duplicateKeys } from '../protocol/duplicateKeys.ts';
import { printable } from '../protocol/printable.ts';
import { statementType } from './formats.ts';
import { SignatureFault } from './signatureFault.ts';

/** The JSON of the in-toto statement in a Sigstore bundle, of any predicate type. Throws `SignatureFault`. */
export function statementJsonIn({ content }: Bundle): unknown {
  if (content.$case !== 'dsseEnvelope') throw new SignatureFault('it signs a digest alone, and not a statement');
  const { payload, payloadType } = content.dsseEnvelope;
  if (payloadType !== statementType)
    throw new SignatureFault(`its payload is ${printable(payloadType)}, not an in-toto statement`);
  return parseStrictly(payload.toString('utf8'), 'its statement');
}

/** Parses JSON in which no key stands twice. Throws `SignatureFault`, which names it by `what`. */
export function parseStrictly(text: string, what: string): unknown {
  const json = parseJson(text, what);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${printable(duplicate)} stands twice in ${what}`);
  return json;
}

/** What a validator found last, in one line. */
export function formatSchemaErrors({ errors }: { errors?: ErrorObject[] | null }): string {
  return (errors ?? []).map(formatSchemaError).join('; ');
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SignatureFault(`${what} is not JSON`);
  }
}

function formatSchemaError({ instancePath, message = '', params }: ErrorObject): string {
  const key: unknown = params['additionalProperty'];
  const where = [printable(instancePath), message].filter((part) => part !== '').join(' ');
  return typeof key === 'string' ? `${where} (${printable(key)})` : where;
}
