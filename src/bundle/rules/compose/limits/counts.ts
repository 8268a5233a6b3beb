import { valueAt, textOf, textsOf, type ComposeNode } from '../document/composeNode.ts';

/** A number as compose reads it; 0 for a text with a variable and for anything else. */
export function countOf(value: ComposeNode | undefined): number {
  return Number(textOf(value)?.replaceAll('_', '')) || 0;
}

/** The number of ports of an entry of `ports` or `expose` after compose has expanded its ranges. */
export function portCountOf(entry: ComposeNode): number {
  const written = textsOf([entry, valueAt(entry, 'target'), valueAt(entry, 'published')]);
  const ranges = written.flatMap((one) => [...one.matchAll(/(?<!\d)(\d+)-(\d+)/g)]);
  return Math.max(1, ...ranges.map(([, first, last]) => Number(last) - Number(first) + 1));
}
