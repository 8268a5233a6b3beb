import { entriesOf, textOf, valueAt, type ComposeFile, type ComposeNode } from '../compose/document/composeNode.ts';
import { serviceLayers } from '../compose/document/serviceLayers.ts';
import { asSet, type Values } from './differences.ts';

/** Sections of a compose file, and what one of their entries is called. */
const sections = { networks: 'network', volumes: 'volume', configs: 'config', secrets: 'secret' } as const;

/** Keys of which a list of `NAME=value` means the same as a mapping. */
const assignmentKeys = new Set(['environment', 'labels', 'annotations', 'sysctls']);
/** Keys whose list is one value, which a later file replaces. */
const sequenceKeys = new Set(['command', 'entrypoint', 'test']);

/** The services of a bundle by name, each with its values by key path (`environment.LEVEL`), merged over all files. */
export function serviceValues(files: readonly ComposeFile[]): Map<string, Values> {
  return new Map([...serviceLayers(files)].map(([name, layers]) => [name, mergedValues(layers)]));
}

/** The networks, volumes, configs and secrets of the files in the same way, named as `network front`. */
export function resourceValues(files: readonly ComposeFile[]): Map<string, Values> {
  const layers = new Map<string, ComposeNode[]>();
  for (const { root } of files) {
    for (const [section, kind] of Object.entries(sections)) {
      for (const [name, node] of entriesOf(valueAt(root, section))) {
        layers.set(`${kind} ${name}`, [...(layers.get(`${kind} ${name}`) ?? []), node]);
      }
    }
  }
  return new Map([...layers].map(([name, nodes]) => [name, mergedValues(nodes)]));
}

function mergedValues(layers: readonly ComposeNode[]): Values {
  const values = new Map<string, string | ReadonlySet<string>>();
  for (const layer of layers) {
    for (const [key, node] of entriesOf(layer)) if (key !== 'extends') collect(node, [key], values);
  }
  return values;
}

function collect(node: ComposeNode, path: readonly string[], into: Map<string, string | ReadonlySet<string>>): void {
  const [key, last = ''] = [path.join('.'), path.at(-1)];
  if (node.kind === 'map' && node.entries.size > 0) {
    for (const [name, inner] of node.entries) collect(inner, [...path, name], into);
  } else if (node.kind !== 'list' || sequenceKeys.has(last)) {
    into.set(key, textFor(node));
  } else if (assignmentKeys.has(last)) {
    for (const item of node.items.map(textFor)) {
      const [name = '', ...rest] = item.split('=');
      into.set(`${key}.${name}`, item.includes('=') ? rest.join('=') : noValue);
    }
  } else {
    into.set(key, new Set([...asSet(into.get(key) ?? new Set()), ...node.items.map(textFor)]));
  }
}

/** Stands for the value of a name alone, or of a key without one. */
const noValue = '(none)';

function textFor(node: ComposeNode): string {
  if (node.kind === 'scalar') return textOf(node) ?? noValue;
  return JSON.stringify(plainOf(node));
}

function plainOf(node: ComposeNode): unknown {
  if (node.kind === 'scalar') return textOf(node);
  if (node.kind === 'list') return node.items.map(plainOf);
  return Object.fromEntries([...node.entries].map(([key, inner]) => [key, plainOf(inner)]));
}
