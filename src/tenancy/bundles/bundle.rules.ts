import type { Manifest } from '../../../machines/types.ts';
import { changeManifest } from '../../api/manifest.rules.ts';

/** Versions of secrets by the path of the secret in manifests. */
export type SecretPins = ReadonlyMap<string, number>;

/** True if a manifest reads an older version of a secret, or does not pin a version. */
export function arePinsNeeded({ secrets }: Pick<Manifest, 'secrets'>, pins: SecretPins): boolean {
  return secrets.some(({ path, version }) => (version ?? 0) < (pins.get(path) ?? 0));
}

/** The newest version that a manifest pins by path of the secrets that it reads; 0 if it pins none. */
export function newestPins({ secrets }: Pick<Manifest, 'secrets'>): Map<string, number> {
  const pins = new Map<string, number>();
  for (const { path, version } of secrets) pins.set(path, Math.max(version ?? 0, pins.get(path) ?? 0));
  return pins;
}

/** Changes the sequence and pinned older versions in the text of a valid manifest, and nothing else. */
export function pinSecrets(text: string, sequence: number, pins: SecretPins): string {
  return changeManifest(text, ({ secrets }) => {
    const raise = (secret: (typeof secrets)[number]) => {
      const version = pins.get(secret.path) ?? 0;
      return (secret.version ?? 0) < version ? { ...secret, version } : secret;
    };
    return { sequence, secrets: secrets.map(raise) };
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
