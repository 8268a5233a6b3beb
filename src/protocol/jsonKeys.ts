/** Paths (`agent.allow_privileged`, `secrets[0].var`) of the keys that a JSON text has twice; the text must be valid JSON. */
export function duplicateKeys(json: string): string[] {
  const duplicates: string[] = [];
  const open: Level[] = [];
  for (const [token, , colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\],]/g)) {
    const level = open.at(-1);
    if (token === '{' || token === '[')
      open.push({ path: pathOf(level), keys: token === '{' ? new Set() : null, at: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && level?.keys === null) level.at = Number(level.at) + 1;
    else if (colon !== undefined && level?.keys) {
      level.at = JSON.parse(token.slice(0, -colon.length)) as string;
      if (level.keys.has(level.at)) duplicates.push(pathOf(level));
      level.keys.add(level.at);
    }
  }
  return duplicates;
}

interface Level {
  path: string;
  /** Null in a list. */
  keys: Set<string> | null;
  /** The key or the index that is being read. */
  at: string | number;
}

function pathOf(level: Level | undefined): string {
  if (!level) return '';
  const { path, at } = level;
  return typeof at === 'number' ? `${path}[${at}]` : `${path}${path === '' ? '' : '.'}${at}`;
}
