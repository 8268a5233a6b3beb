import { at, entriesOf, textOf, type Tree } from './tree.ts';

/** Nobody extends further than this; the rest of a longer chain is not looked at, and `judgeCompose` refuses it. */
const maxExtends = 16;

/** Everything that makes up a service, first what counts least: what it extends, then its own text, file by file. */
export function layersOf(files: readonly { root: Tree }[]): Map<string, Tree[]> {
  const layers = new Map<string, Tree[]>();
  for (const { root } of files) {
    const services = at(root, 'services');
    for (const [name] of entriesOf(services)) {
      layers.set(name, [...(layers.get(name) ?? []), ...chainOf(services, name, 0)]);
    }
  }
  return layers;
}

/** Why a service cannot extend what it names, null when it can or extends nothing. */
export function extendsFault(services: Tree | undefined, name: string, depth = 0): string | null {
  const service = at(services, name);
  if (at(service, 'extends') === undefined) return null;
  const base = baseOf(service);
  if (base === null) return 'extends no service: name one';
  if (at(services, base) === undefined) return `extends ${base}, which is not in the same file`;
  return depth >= maxExtends ? 'extends in a circle or too deep' : extendsFault(services, base, depth + 1);
}

function chainOf(services: Tree | undefined, name: string, depth: number): Tree[] {
  const service = at(services, name);
  if (service === undefined || depth > maxExtends) return [];
  const base = baseOf(service);
  return [...(base === null ? [] : chainOf(services, base, depth + 1)), service];
}

function baseOf(service: Tree | undefined): string | null {
  return textOf(at(service, 'extends')) ?? textOf(at(service, 'extends', 'service'));
}

/** The value that counts under a chain of keys: the one of the last layer that has any. */
export function lastOf(layers: readonly Tree[], ...keys: string[]): Tree | undefined {
  return layers.map((layer) => at(layer, ...keys)).findLast((value) => value !== undefined);
}
