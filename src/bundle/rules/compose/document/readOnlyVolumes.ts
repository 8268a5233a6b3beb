import { entriesOf, itemsOf, textOf, textsOf, valueAt, valuesAt, type ComposeNode } from './composeNode.ts';
import { isReadOnlyMount } from './mountMode.ts';
import { serviceLayers } from './serviceLayers.ts';

/**
 * The keys of the volumes to which nothing is written, under any of their names on the engine: each of their mounts is
 * read-only and has `nocopy`, since the engine fills an empty volume with what the image has there.
 */
export function readOnlyVolumes(files: readonly { root: ComposeNode }[], projectName: string): ReadonlySet<string> {
  const layers = [...serviceLayers(files).values()].flat();
  const mounts = layers.flatMap((layer) => itemsOf(valueAt(layer, 'volumes')));
  const volumes = files.flatMap(({ root }) => entriesOf(valueAt(root, 'volumes')));
  const namesOf = (key: string) => {
    const own = volumes.filter(([other]) => other === key).map(([, volume]) => volume);
    return [key, `${projectName}_${key}`, ...textsOf([...valuesAt(own, 'name'), ...valuesAt(own, 'external', 'name')])];
  };
  const keysOf = (found: readonly ComposeNode[]) => new Set(found.map(volumeOf));
  const written = new Set([...keysOf(mounts.filter((mount) => !isOnlyRead(mount)))].flatMap(namesOf));
  const read = [...keysOf(mounts)].filter((key) => !namesOf(key).some((name) => written.has(name)));
  return new Set(read);
}

/** The key of the volume that is mounted; anything for a mount of something else. */
function volumeOf(mount: ComposeNode): string {
  return textOf(valueAt(mount, 'source')) ?? textOf(mount)?.split(':', 1)[0] ?? '';
}

function isOnlyRead(mount: ComposeNode): boolean {
  const modes = textOf(mount)?.split(':')[2]?.split(',') ?? [];
  const isNotFilled = modes.includes('nocopy') || textOf(valueAt(mount, 'volume', 'nocopy')) === 'true';
  return isNotFilled && isReadOnlyMount(mount);
}
