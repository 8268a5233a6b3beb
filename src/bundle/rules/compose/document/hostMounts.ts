import { entriesOf, itemsOf, textOf, valueAt, type ComposeNode } from './composeNode.ts';
import { serviceLayers } from './serviceLayers.ts';

/** The absolute sources of all bind mounts and devices of volumes, as written, without duplicates. */
export function hostMountSources(files: readonly { root: ComposeNode }[]): string[] {
  const layers = [...serviceLayers(files).values()].flat();
  const mounts = layers.flatMap((layer) => itemsOf(valueAt(layer, 'volumes')));
  const volumes = files.flatMap(({ root }) => entriesOf(valueAt(root, 'volumes')));
  const devices = volumes.flatMap(([, volume]) => textOf(valueAt(volume, 'driver_opts', 'device')) ?? []);
  return [...new Set([...mounts.flatMap(sourceOf), ...devices].filter((source) => source.startsWith('/')))];
}

function sourceOf(mount: ComposeNode): string[] {
  const long = textOf(valueAt(mount, 'source'));
  if (long !== null) return [long];
  const [source, target] = (textOf(mount) ?? '').split(':');
  return source !== undefined && target !== undefined ? [source] : [];
}
