import type { Manifest } from '../../machines/types.ts';

/** The text of a valid manifest with other values of some keys; all else stays as it is, in its order. */
export function changeManifest(text: string, change: (manifest: Manifest) => Partial<Manifest>): string {
  const manifest = JSON.parse(text) as Manifest;
  return `${JSON.stringify({ ...manifest, ...change(manifest) }, null, 2)}\n`;
}
