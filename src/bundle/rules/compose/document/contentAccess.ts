import { entriesOf, itemsOf, textOf, valueAt, type ComposeNode } from './composeNode.ts';

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
