import { keyNames, keys, type Key } from './schema.ts';

/** The table of all keys, as Markdown, that docs/config.md shows between its markers. */
export function configTable(): string {
  const rows = keyNames.map((key) => [`\`${key}\``, keys[key].allowed, defaultOf(keys[key]), keys[key].meaning]);
  return [['key', 'allowed', 'default', 'meaning'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function defaultOf({ default: value }: Key): string {
  if (value === undefined) return 'required';
  if (value === null || (Array.isArray(value) && value.length === 0)) return 'none';
  return `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}
