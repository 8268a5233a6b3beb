import type { ImportWork } from './importWork.ts';
import { entriesAt, valueAt } from './yamlNodes.ts';

/** The name of the volume that takes the place of a directory: the same for the same directory. */
export function volumeNameFor(path: string, { volumes, documents }: Pick<ImportWork, 'volumes' | 'documents'>): string {
  const known = volumes.get(path);
  if (known !== undefined) return known;
  const taken = new Set([
    ...volumes.values(),
    ...documents.flatMap((one) => entriesAt(valueAt(one.root, one, 'volumes'), one).map(([name]) => name)),
  ]);
  const parts = path.split('/').map((part) => part.replace(/[^a-zA-Z0-9_.-]+/g, '-'));
  const plain =
    parts
      .filter((part) => !/^\.*$/.test(part))
      .join('-')
      .replace(/^[^a-zA-Z0-9]+/, '') || 'data';
  const name = plain.length === 1 ? `${plain}-data` : plain;
  let candidate = name;
  for (let count = 2; taken.has(candidate); count++) candidate = `${name}-${count}`;
  volumes.set(path, candidate);
  return candidate;
}
