import type { Manifest } from '../../../machines/types.ts';
import { changeManifest } from '../../api/manifest.rules.ts';

/** A version of a secret, with the path of the secret in manifests. */
interface SecretPin {
  path: string;
  version: number;
}

/** True if a manifest reads an older version of a secret, or does not pin a version. */
export function isPinNeeded({ secrets }: Pick<Manifest, 'secrets'>, { path, version }: SecretPin): boolean {
  return secrets.some((secret) => secret.path === path && (secret.version ?? 0) < version);
}

/** The newest version of a secret that a manifest pins; 0 if it pins none. */
export function newestPin({ secrets }: Pick<Manifest, 'secrets'>, path: string): number {
  return Math.max(0, ...secrets.map((secret) => (secret.path === path ? (secret.version ?? 0) : 0)));
}

/** Changes the sequence and one pinned secret version in the text of a valid manifest, and nothing else. */
export function pinSecret(text: string, sequence: number, { path, version }: SecretPin): string {
  return changeManifest(text, ({ secrets }) => {
    return { sequence, secrets: secrets.map((secret) => (secret.path === path ? { ...secret, version } : secret)) };
  });
}

/** Whether the hosts of its environment would accept the signatures of a bundle. */
export type SignatureState = (typeof signatureStates)[number];

/** All signature states. */
export const signatureStates = ['not required', 'awaiting signature', 'signed'] as const;

/**
 * The signature state of a bundle, from its distinct signers and the number of signatures that its hosts require (null
 * for none).
 */
export function signatureStateOf(signers: readonly string[], threshold: number | null): SignatureState {
  if (threshold === null) return 'not required';
  return signers.length < threshold ? 'awaiting signature' : 'signed';
}

/** Bytes `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** The part of an entity that a request asks for: all of it (null), one range, or a range outside of it. */
type WantedBytes = Range | null | 'unsatisfiable';

/**
 * Parses a Range header for `size` bytes with an ETag (RFC 9110, 14). Several ranges, and malformed ones, mean the
 * whole entity.
 */
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

/** True if an If-None-Match header contains the ETag or `*`. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

function suffix(length: number, size: number): WantedBytes {
  if (length === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(size - length, 0), end: size - 1 };
}
