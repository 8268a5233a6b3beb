import type { Manifest } from '../../../machines/types.ts';
import { changeManifest } from '../../protocol/manifestText.ts';

/** A version of a secret, by its path in manifests. */
export interface SecretPin {
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
