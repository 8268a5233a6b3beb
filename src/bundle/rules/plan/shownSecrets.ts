import type { ComposeNode, Mapping } from '../compose/document/composeNode.ts';
import { serviceLayers } from '../compose/document/serviceLayers.ts';
import { printable } from '../../../protocol/printable.ts';
import { variableUses, type BundleSources } from './variables.ts';

/**
 * For each service that has values of secrets in its own text, not in what it mounts, the variables: a swarm shows these values to
 * whoever may inspect services.
 */
export function shownSecrets({ files, texts }: BundleSources, secrets: readonly string[]): string[] {
  return [...serviceLayers(files)].flatMap(([name, layers]) => {
    const alone = layers.map((layer) => ({ path: '', root: mapping('services', mapping(name, layer)) }));
    const used = new Set(variableUses({ files: alone, texts }).map((use) => use.name));
    const shown = secrets.filter((secret) => used.has(secret)).toSorted();
    return shown.length === 0
      ? []
      : [`service ${printable(name)}: ${shown.join(', ')}, to whoever may inspect services`];
  });
}

function mapping(key: string, value: ComposeNode): Mapping {
  return { kind: 'map', entries: new Map([[key, value]]), line: value.line };
}
