import { entriesOf, textOf, valueAt, type ComposeNode } from './composeNode.ts';
import { effectiveValue, serviceLayers } from './serviceLayers.ts';

/** The sections whose entries containers get as files. */
export const contentSections = ['configs', 'secrets'] as const;

/** How the containers of a bundle come by configs and secrets. */
export interface ContentAccess {
  /** The files of the bundle that an engine mounts as they are, by `configs NAME` or `secrets NAME`. */
  readonly mounted: ReadonlyMap<string, string>;
  /** The users that services name; a service without one is left out. */
  readonly users: ReadonlyMap<string, string>;
}

/** Of all compose files of a bundle together, or of the model. */
export function contentAccessOf(files: readonly { root: ComposeNode }[]): ContentAccess {
  const parts = files.flatMap(({ root }) =>
    contentSections.flatMap((section) =>
      entriesOf(valueAt(root, section)).map(([name, part]) => [`${section} ${name}`, part] as const),
    ),
  );
  const users = [...serviceLayers(files)].flatMap(([name, layers]) => {
    const user = textOf(effectiveValue(layers, 'user'));
    return user === null || user === '' ? [] : [[name, user] as const];
  });
  return {
    mounted: new Map(
      parts.flatMap(([key, part]) => {
        const file = textOf(valueAt(part, 'file'));
        return file === null ? [] : [[key, file] as const];
      }),
    ),
    users: new Map(users),
  };
}
