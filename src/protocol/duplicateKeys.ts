/** Paths (`agent.allow_privileged`, `secrets[0].var`) of the duplicate keys in a JSON text, which must be valid JSON. */
export function duplicateKeys(json: string): string[] {
  const duplicates: string[] = [];
  const open: NestingLevel[] = [];
  for (const [token, , colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\],]/g)) {
    const level = open.at(-1);
    if (token === '{' || token === '[')
      open.push({ path: pathOf(level), keys: token === '{' ? new Set() : null, position: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && level?.keys === null) level.position = Number(level.position) + 1;
    else if (colon !== undefined && level?.keys) {
      level.position = JSON.parse(token.slice(0, -colon.length)) as string;
      if (level.keys.has(level.position)) duplicates.push(pathOf(level));
      level.keys.add(level.position);
    }
  }
  return duplicates;
}

interface NestingLevel {
  path: string;
  /** Null in an array. */
  keys: Set<string> | null;
  /** The key or the index at which the scan is. */
  position: string | number;
}

function pathOf(level: NestingLevel | undefined): string {
  if (!level) return '';
  const { path, position } = level;
  return typeof position === 'number' ? `${path}[${position}]` : `${path}${path === '' ? '' : '.'}${position}`;
}
