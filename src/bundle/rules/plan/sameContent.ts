import type { Manifest } from '../../../../machines/types.ts';
import type { BundleContents } from '../archive/inventory.ts';

/** A bundle by its manifest and its files. */
export interface ComparedBundle {
  manifest: Manifest;
  contents: BundleContents;
}

/**
 * True for bundles that differ in nothing but sequence, version text and the versions of their secrets: what a rotated secret
 * and an aborted rollout make of a bundle.
 */
export function hasSameContent(one: ComparedBundle, other: ComparedBundle): boolean {
  return (
    manifestText(one.manifest) === manifestText(other.manifest) && filesText(one.contents) === filesText(other.contents)
  );
}

function manifestText(manifest: Manifest): string {
  const secrets = manifest.secrets.map(({ var: name, path, field }) => [name, path, field]);
  const compared = Object.entries({ ...manifest, sequence: 0, version: '', secrets });
  return JSON.stringify(compared.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function filesText({ files, directories }: BundleContents): string {
  const texts = files
    .filter(({ path }) => path !== 'manifest.json')
    .map(({ path, sha256, executable }) => JSON.stringify([path, sha256, executable]));
  return [...texts.toSorted(), ...directories.toSorted()].join('\n');
}
