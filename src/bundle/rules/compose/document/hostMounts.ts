import { itemsOf, textOf, valueAt, type ComposeNode } from './composeNode.ts';
import { serviceLayers } from './serviceLayers.ts';

/** The absolute sources of all bind mounts, as written, without duplicates. */
export function hostMountSources(files: readonly { root: ComposeNode }[]): string[] {
  const layers = [...serviceLayers(files).values()].flat();
  const mounts = layers.flatMap((layer) => itemsOf(valueAt(layer, 'volumes')));
  return [...new Set(mounts.flatMap(sourceOf).filter((source) => source.startsWith('/')))];
}

function sourceOf(mount: ComposeNode): string[] {
  const long = textOf(valueAt(mount, 'source'));
  if (long !== null) return [long];
  const [source, target] = (textOf(mount) ?? '').split(':');
  return source !== undefined && target !== undefined ? [source] : [];
}
