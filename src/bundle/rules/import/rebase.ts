import type { Scalar } from 'yaml';
import type { ProjectDocument } from './projectDocument.ts';
import { joinPath } from './projectTree.ts';
import { servicePartsOf } from './services.ts';
import { entriesAt, itemsAt, scalarAt, setText, textAt, valueAt } from './yamlNodes.ts';

/** Makes the paths of a file in another directory relative to the project's. */
export function rebasePaths(document: ProjectDocument, base: string): void {
  if (base === '.') return;
  for (const scalar of pathScalars(document)) {
    const [path = ''] = scalar.value.split(':', 1);
    const isRelative = !/^[/~$]|^\w+:\/\//.test(scalar.value);
    if (isRelative) setText(scalar, `${dotted(joinPath(base, path))}${scalar.value.slice(path.length)}`);
  }
}

/** Compose takes a mount's source for a path when it begins with a dot. */
export function dotted(path: string): string {
  return path === '.' || path.startsWith('..') ? path : `./${path}`;
}

function pathScalars(document: ProjectDocument): Scalar<string>[] {
  const { root } = document;
  const nodes = servicePartsOf([document]).flatMap(({ map }) => [
    ...itemsAt(valueAt(map, document, 'volumes'), document).flatMap((mount) => bindSourceOf(mount, document)),
    ...['env_file', 'label_file'].flatMap((key) =>
      itemsAt(valueAt(map, document, key), document).map((item) => valueAt(item, document, 'path') ?? item),
    ),
    valueAt(map, document, 'extends', 'file'),
  ]);
  const contents = ['configs', 'secrets'].flatMap((section) =>
    entriesAt(valueAt(root, document, section), document).map(([, part]) => valueAt(part, document, 'file')),
  );
  return [...new Set([...nodes, ...contents].flatMap((node) => scalarAt(node, document) ?? []))];
}

/** The scalar that holds the source of a bind mount. */
export function bindSourceOf(mount: unknown, document: ProjectDocument): Scalar<string>[] {
  const short = scalarAt(mount, document);
  if (short !== null) return /^[./~]/.test(short.value) && short.value.includes(':') ? [short] : [];
  if (textAt(valueAt(mount, document, 'type'), document) !== 'bind') return [];
  const source = scalarAt(valueAt(mount, document, 'source'), document);
  return source === null ? [] : [source];
}
