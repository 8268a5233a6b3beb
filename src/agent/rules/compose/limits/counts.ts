import { valueAt, textOf, type ComposeNode } from '../document/composeNode.ts';

/** A number as compose reads it; 0 for a text with a variable. */
export function parseCount(text: string): number {
  return Number(text.replaceAll('_', '')) || 0;
}

/** The number of ports of an entry of `ports` or `expose` after compose has expanded its ranges. */
export function portCountOf(entry: ComposeNode): number {
  const written = [entry, valueAt(entry, 'target'), valueAt(entry, 'published')].flatMap((one) => textOf(one) ?? []);
  const ranges = written.flatMap((one) => [...one.matchAll(/(?<!\d)(\d+)-(\d+)/g)]);
  return Math.max(1, ...ranges.map(([, first, last]) => Number(last) - Number(first) + 1));
}
