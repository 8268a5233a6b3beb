import { type ComposeNode, entriesOf, itemsOf, textOf, textsOf, valueAt, valuesAt } from './composeNode.rules.ts';
import type { MergedFiles } from './services.rules.ts';

/** Whether a mount, in its short or long form, is read-only. */
export function isReadOnlyMount(mount: ComposeNode): boolean {
  const short = textOf(mount);
  if (short !== null) return hasReadOnlyMode(short.split(':')[2]);
  return /^(true|yes|on|y)$/i.test(textOf(valueAt(mount, 'read_only')) ?? '');
}

/** Whether a mount takes its mode from a variable, so that only the rendered model shows it. */
export function hasVariableMode(mount: ComposeNode): boolean {
  return textOf(valueAt(mount, 'read_only'))?.includes('$') === true;
}

/** Whether the modes of a short mount (`ro,z`) make it read-only. */
export function hasReadOnlyMode(modes = ''): boolean {
  const all = modes.split(',');
  return all.includes('ro') && !all.includes('rw');
}

/**
 * The keys of the volumes to which nothing is written, under any of their names on the engine. Each of their mounts is
 * read-only and has `nocopy`, because the engine fills an empty volume with the image's files.
 */
export function readOnlyVolumes({ files, services }: MergedFiles, projectName: string): ReadonlySet<string> {
  const layers = [...services.values()].flat();
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

/** The absolute sources of all bind mounts and devices of volumes, as written, without duplicates. */
export function hostMountSources({ files, services }: MergedFiles): string[] {
  const layers = [...services.values()].flat();
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

/** The sections whose entries containers get as files. */
export const contentSections = ['configs', 'secrets'] as const;

/** The files of a bundle that an engine mounts as configs and secrets, by `configs NAME` or `secrets NAME`. */
export function mountedContents(files: readonly { root: ComposeNode }[]): ReadonlyMap<string, string> {
  const parts = files.flatMap(({ root }) =>
    contentSections.flatMap((section) =>
      entriesOf(valueAt(root, section)).map(([name, part]) => [`${section} ${name}`, part] as const),
    ),
  );
  return new Map(
    parts.flatMap(([key, part]) => {
      const file = textOf(valueAt(part, 'file'));
      return file === null ? [] : [[key, file] as const];
    }),
  );
}

/** The configs or secrets of a service, without those that a later layer replaces. */
export function effectiveReferences(layers: readonly ComposeNode[], section: string): ComposeNode[] {
  const sourceOf = (node: ComposeNode) => textOf(valueAt(node, 'source') ?? node);
  const perLayer = layers.map((layer) => itemsOf(valueAt(layer, section)));
  return perLayer.flatMap((references, index) => {
    const later = new Set(perLayer.slice(index + 1).flatMap((each) => each.map(sourceOf)));
    return references.filter((reference) => !later.has(sourceOf(reference)));
  });
}
