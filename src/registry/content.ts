import { printable } from '../protocol/printable.ts';
import { digestOf } from './imageDigest.ts';

/** How a manifest names bytes of its repository (an OCI descriptor), as far as it is looked at. */
export interface Descriptor {
  mediaType: string;
  digest: string;
  /** In bytes. */
  size: number;
  /** Empty where there is none. */
  artifactType: string;
  annotations: Readonly<Record<string, unknown>>;
}

/** A manifest or an index, as far as it is looked at; a list that it has not is empty. */
export interface ManifestContent {
  annotations: Readonly<Record<string, unknown>>;
  layers: Descriptor[];
  manifests: Descriptor[];
}

/** Parses a manifest or an index; what it names in another way than by a digest is left out. Null when it is none. */
export function parseManifest(body: Buffer): ManifestContent | null {
  const { schemaVersion, annotations, layers, manifests } = objectOf(parseJson(body));
  if (schemaVersion !== 2) return null;
  return { annotations: objectOf(annotations), layers: descriptorsIn(layers), manifests: descriptorsIn(manifests) };
}

/** Why bytes are not those of a descriptor; null when they are. */
export function contentFault({ digest, size }: Descriptor, body: Buffer): string | null {
  if (body.length === size && digestOf(body) === digest) return null;
  return `the registry gives other bytes than those of ${printable(digest)}`;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function descriptorsIn(value: unknown): Descriptor[] {
  return (Array.isArray(value) ? value : []).flatMap((each) => descriptorOf(objectOf(each)) ?? []);
}

function descriptorOf(fields: Readonly<Record<string, unknown>>): Descriptor | null {
  const { mediaType, digest, size, artifactType, annotations } = fields;
  if (typeof mediaType !== 'string' || typeof digest !== 'string' || typeof size !== 'number') return null;
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  const type = typeof artifactType === 'string' ? artifactType : '';
  return { mediaType, digest, size, artifactType: type, annotations: objectOf(annotations) };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return Array.isArray(value) ? {} : (Object(value) as Record<string, unknown>);
}
