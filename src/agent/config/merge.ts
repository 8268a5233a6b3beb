import { keyNames, keys, leafOf, sectionOf, sections } from './schema.ts';

/** What was written, with the default of every key that was not; a section that is no map stays as it is, for the check. */
export function mergeDefaults(written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...defaultsOf('', written['env']), ...written };
  for (const section of sections) {
    const own = written[section] ?? {};
    merged[section] = isRecord(own) ? { ...defaultsOf(section, written['env']), ...own } : own;
  }
  return merged;
}

/** Whether a value is a map, as YAML makes them. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function defaultsOf(section: string, env: unknown): Record<string, unknown> {
  const own = keyNames.filter((key) => sectionOf(key) === section && keys[key].default !== undefined);
  return Object.fromEntries(own.map((key) => [leafOf(key), filledIn(keys[key].default, env)]));
}

function filledIn(value: unknown, env: unknown): unknown {
  return typeof value === 'string' && typeof env === 'string' ? value.replaceAll('<env>', env) : value;
}
