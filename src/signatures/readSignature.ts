import { bundleFromJSON, bundleToJSON, type Bundle } from '@sigstore/bundle';
import { printable } from '../protocol/printable.ts';
import { bundleMediaType, olderBundleMediaType } from './formats.ts';
import { requireOneTree } from './inclusionProof.ts';
import { SignatureFault } from './signatureFault.ts';

const mediaTypes = [bundleMediaType, olderBundleMediaType];

/**
 * Parses a Sigstore bundle of version 0.3 strictly: written again, it must say the same. So unknown fields, other types and
 * second encodings of the same bytes are refused, which the library would pass over. Throws `SignatureFault`.
 */
export function readSignature(json: unknown): Bundle {
  const bundle = parse(json);
  if (!mediaTypes.includes(bundle.mediaType))
    throw new SignatureFault(`it is no Sigstore bundle v0.3 (${printable(bundle.mediaType)})`);
  const path = differingPath(json, bundleToJSON(bundle), '');
  if (path !== null) throw new SignatureFault(`its field ${printable(path)} is unknown or malformed`);
  bundle.verificationMaterial.tlogEntries.forEach(requireOneTree);
  return bundle;
}

function parse(json: unknown): Bundle {
  if (!isObject(json)) throw new SignatureFault('it is no Sigstore bundle');
  try {
    return bundleFromJSON(json);
  } catch (error) {
    const { fields = [] } = error as { fields?: string[] };
    throw new SignatureFault(['it is no Sigstore bundle v0.3', ...fields.map(printable)].join(': '));
  }
}

/** Path of the first difference, null without one; what protobuf leaves out when it has its default may stand in `given`. */
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
