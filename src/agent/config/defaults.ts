import { isObject } from '../../protocol/jsonFields.ts';
import { configKeyNames, configKeys, leafOf, sectionOf, configSections } from './configKeys.ts';

/** The configuration file's values with the defaults of missing keys. A section that is no map is kept, for validation. */
export function mergeDefaults(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...defaultsOf('', values['env']), ...values };
  for (const section of configSections) {
    const own = values[section] ?? {};
    merged[section] = isObject(own) ? { ...defaultsOf(section, values['env']), ...own } : own;
  }
  return merged;
}

function defaultsOf(section: string, env: unknown): Record<string, unknown> {
  const own = configKeyNames.filter((key) => sectionOf(key) === section && configKeys[key].default !== undefined);
  return Object.fromEntries(own.map((key) => [leafOf(key), expandEnv(configKeys[key].default, env)]));
}

function expandEnv(value: unknown, env: unknown): unknown {
  return typeof value === 'string' && typeof env === 'string' ? value.replaceAll('<env>', env) : value;
}
