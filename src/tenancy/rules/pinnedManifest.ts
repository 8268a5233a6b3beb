import type { Manifest } from '../../../machines/types.ts';

/** A version of a secret, by its path in manifests. */
export interface SecretPin {
  path: string;
  version: number;
}

/** True if a manifest reads a secret in an older version, or in whichever is the newest. */
export function isPinNeeded({ secrets }: Pick<Manifest, 'secrets'>, { path, version }: SecretPin): boolean {
  return secrets.some((secret) => secret.path === path && (secret.version ?? 0) < version);
}

/** The text of a valid manifest with another sequence and with a version of a secret pinned; all else stays as it is. */
export function pinSecret(text: string, sequence: number, { path, version }: SecretPin): string {
  const manifest = JSON.parse(text) as { secrets: { path: string; version?: number }[] };
  const secrets = manifest.secrets.map((secret) => (secret.path === path ? { ...secret, version } : secret));
  return `${JSON.stringify({ ...manifest, sequence, secrets }, null, 2)}\n`;
}
