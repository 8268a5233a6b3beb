/** True for a JSON object, false for an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Duplicate keys of one text that are reported: deeply nested ones have long paths. */
const maxDuplicates = 100;

/**
 * Paths (`agent.allow_privileged`, `secrets[0].var`) of the first duplicate keys in a JSON text, which must be valid
 * JSON.
 */
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
      if (duplicates.length === maxDuplicates) break;
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

/** The value if it is an object, else an empty object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value if it is an array, else an empty array. */
export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The value if it is a string, else an empty string. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed JSON, undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
