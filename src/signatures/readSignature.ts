import { type Bundle, bundleFromJSON, bundleToJSON } from '@sigstore/bundle';
import type { ErrorObject } from 'ajv';
import { duplicateKeys } from '../core/json.rules.ts';
import { printable } from '../core/text.rules.ts';
import { bundleMediaType, olderBundleMediaType, statementType } from './formats.ts';
import { SignatureFault } from './judgement.rules.ts';
import { validateStatement } from './signatureValidators.ts';
import type { BundleClaim } from './trust.ts';

const mediaTypes = [bundleMediaType, olderBundleMediaType];

/**
 * Parses a Sigstore bundle of version 0.3 strictly: written again, it must say the same. So unknown fields, other types and
 * second encodings of the same bytes are refused, which the library would pass over. Throws `SignatureFault`.
 */
export function readSignature(json: unknown): Bundle {
  const bundle = parseBundle(json);
  if (!mediaTypes.includes(bundle.mediaType))
    throw new SignatureFault(`it is not a Sigstore bundle v0.3 (${printable(bundle.mediaType)})`);
  const path = differingPath(json, bundleToJSON(bundle), '');
  if (path !== null) throw new SignatureFault(`its field ${printable(path)} is unknown or malformed`);
  bundle.verificationMaterial.tlogEntries.forEach(requireOneTree);
  return bundle;
}

function parseBundle(json: unknown): Bundle {
  if (!isObject(json)) throw new SignatureFault('it is not a Sigstore bundle');
  try {
    return bundleFromJSON(json);
  } catch (error) {
    const { fields = [] } = error as { fields?: string[] };
    throw new SignatureFault(['it is not a Sigstore bundle v0.3', ...fields.map(printable)].join(': '));
  }
}

/**
 * Path of the first difference, null without one; `given` may contain fields that protobuf leaves out because they have
 * their default.
 */
function differingPath(given: unknown, written: unknown, path: string): string | null {
  if (written === undefined && isDefault(given)) return null;
  if (!isObject(given) || !isObject(written) || Array.isArray(given) !== Array.isArray(written))
    return Object.is(given, written) ? null : path;
  for (const key of new Set([...Object.keys(given), ...Object.keys(written)])) {
    const found = differingPath(valueOf(given, key), valueOf(written, key), path === '' ? key : `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isDefault(value: unknown): boolean {
  return value === '' || value === '0' || (Array.isArray(value) && value.length === 0);
}

function valueOf(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

type LogEntry = Bundle['verificationMaterial']['tlogEntries'][number];

/**
 * Requires that a proof of inclusion names the tree of its checkpoint, and that the checkpoint is one signed note: the library
 * verifies the checkpoint alone, and looks at neither. Throws `SignatureFault`.
 */
function requireOneTree({ inclusionProof: proof }: LogEntry): void {
  if (proof === undefined) return;
  const [note = '', ...rest] = (proof.checkpoint?.envelope ?? '').split('\n\n');
  const [, treeSize, rootHash] = note.split('\n');
  if (proof.treeSize !== treeSize || proof.rootHash.toString('base64') !== rootHash)
    throw new SignatureFault('its inclusion proof is of another tree than its checkpoint');
  if (!/^(\u2014 \S+ \S+\n)+$/.test(rest.join('\n\n'))) throw new SignatureFault('its checkpoint is not a signed note');
}

/** A statement about a bundle: the sha256 of its archive in hex, and what is claimed of it. */
export interface Statement {
  sha256: string;
  claim: BundleClaim;
}

/**
 * The content of a signature; the signature itself is not verified. Throws `SignatureFault` unless it is a Sigstore
 * bundle with an in-toto statement about a bundle (spec §18).
 */
export function statementOf(signature: unknown): Statement {
  return statementIn(readSignature(signature));
}

/** The same of a parsed Sigstore bundle. */
export function statementIn(bundle: Bundle): Statement {
  const json = statementJsonIn(bundle);
  if (!validateStatement(json))
    throw new SignatureFault(`its statement is not one about a bundle: ${formatSchemaErrors(validateStatement)}`);
  const { subject, predicate } = json;
  return { sha256: subject[0].digest.sha256, claim: predicate };
}

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
  const json = parseText(text, what);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${printable(duplicate)} stands twice in ${what}`);
  return json;
}

/** The last fault of a validator, in one line. */
export function formatSchemaErrors({ errors }: { errors?: ErrorObject[] | null }): string {
  return (errors ?? []).map(formatSchemaError).join('; ');
}

function parseText(text: string, what: string): unknown {
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
