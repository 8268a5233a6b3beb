import type { ComposeFile, ComposeNode, Mapping } from './composeNode.ts';
import { maxCharacters } from './documentSize.ts';
import { interpolate } from './interpolation.ts';

/** Values by the names of their variables. */
type Values = Readonly<Record<string, string>>;

/** Longest text that is filled in: nothing that could be a power is longer. */
const maxFilledCharacters = 4096;
/** A part of what a bundle's compose files may have, so that its values alone never make them too long. */
const maxAllCharacters = maxCharacters / 4;

/**
 * The file with the values in all texts that use these variables alone, as compose will read them from `.env`. A text stays as
 * written that uses another one, such as a secret, that is long or holds control characters, as only free text may, and every
 * text once the values make up too many characters.
 */
export function withManifestVariables({ path, root }: ComposeFile, values: Values): ComposeFile {
  const rest = { characters: maxAllCharacters };
  const fill = (node: ComposeNode): ComposeNode => {
    if (node.kind === 'list') return { ...node, items: node.items.map(fill) };
    if (node.kind === 'map') return fillMapping(node, fill);
    const text = node.text.includes('$') && rest.characters > 0 ? interpolate(node.text, values) : null;
    if (text === null || text.length > maxFilledCharacters || /\p{C}/u.test(text)) return node;
    rest.characters -= text.length;
    return { ...node, text };
  };
  return Object.keys(values).length === 0 ? { path, root } : { path, root: fillMapping(root, fill) };
}

function fillMapping(node: Mapping, fill: (node: ComposeNode) => ComposeNode): Mapping {
  return { ...node, entries: new Map([...node.entries].map(([key, value]) => [key, fill(value)])) };
}
