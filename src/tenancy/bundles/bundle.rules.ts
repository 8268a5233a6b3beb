import type { Manifest } from '../../../machines/types.ts';
import { changeManifest } from '../../api/manifest.rules.ts';

/** A version of a secret, by its path in manifests. */
interface SecretPin {
  path: string;
  version: number;
}

/** True if a manifest reads a secret in an older version, or in whichever is the newest. */
export function isPinNeeded({ secrets }: Pick<Manifest, 'secrets'>, { path, version }: SecretPin): boolean {
  return secrets.some((secret) => secret.path === path && (secret.version ?? 0) < version);
}

/** The newest version of a secret that a manifest pins; 0 for none. */
export function newestPin({ secrets }: Pick<Manifest, 'secrets'>, path: string): number {
  return Math.max(0, ...secrets.map((secret) => (secret.path === path ? (secret.version ?? 0) : 0)));
}

/** The text of a valid manifest with another sequence and with a version of a secret pinned; all else stays as it is. */
export function pinSecret(text: string, sequence: number, { path, version }: SecretPin): string {
  return changeManifest(text, ({ secrets }) => {
    return { sequence, secrets: secrets.map((secret) => (secret.path === path ? { ...secret, version } : secret)) };
  });
}

/** Whether the hosts of its env would apply a bundle, as far as signatures are concerned. */
export type SignatureState = (typeof signatureStates)[number];

/** All of them. */
export const signatureStates = ['not required', 'awaiting signature', 'signed'] as const;

/** The state of a bundle by its different signers, and how many of them its hosts demand; null if they demand none. */
export function signatureStateOf(signers: readonly string[], threshold: number | null): SignatureState {
  if (threshold === null) return 'not required';
  return signers.length < threshold ? 'awaiting signature' : 'signed';
}

/** Bytes `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** What a request wants of an entity: all of it (null), one range, or a range that lies outside of it. */
type WantedBytes = Range | null | 'unsatisfiable';

/** The bytes that are wanted of `size` bytes under an ETag (RFC 9110, 14). Several ranges, and odd ones, mean all. */
export function wantedBytes(
  { range, ifRange }: { range: string | undefined; ifRange: string | undefined },
  { etag, size }: { etag: string; size: number },
): WantedBytes {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return null;
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? [];
  if (first === '') return last === '' ? null : suffix(Number(last), size);
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** True if an If-None-Match names the ETag, or any. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

function suffix(length: number, size: number): WantedBytes {
  if (length === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(size - length, 0), end: size - 1 };
}
