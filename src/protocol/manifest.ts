import type { ErrorObject } from 'ajv';
import type { Refusal } from '../../machines/refusals.ts';
import type { Manifest, ManifestSecret } from '../../machines/types.ts';
import { printable } from './printable.ts';
import { duplicateKeys } from './duplicateKeys.ts';
import { validate } from './manifestValidator.ts';
import { isReservedVariable } from './reservedVariables.ts';
import { unusableReason } from './variableValue.ts';

/** Limit against bundles that try to exhaust the agent; an ordinary manifest is a page of text. */
export const maxManifestCharacters = 262_144;
const maxReportedErrors = 100;

/** Parses `manifest.json` and fills in the defaults; MANIFEST_INVALID lists every error with its path (spec §5). */
export function parseManifest(text: string, env: string): { manifest: Manifest } | { refusal: Refusal } {
  const parsed = parseJson(text);
  if (typeof parsed === 'string') return manifestInvalid([parsed]);
  const errors = [
    ...duplicateKeys(text).map((key) => `${printable(key)}: stands twice`),
    ...schemaErrors(parsed.json),
    ...crossFieldErrors(parsed.json, env),
  ];
  return errors.length > 0 ? manifestInvalid(errors) : { manifest: withDefaults(parsed.json as ManifestJson) };
}

function manifestInvalid(errors: string[]): { refusal: Refusal } {
  const more = errors.length > maxReportedErrors ? [`and ${errors.length - maxReportedErrors} more`] : [];
  return { refusal: { code: 'MANIFEST_INVALID', detail: [...errors.slice(0, maxReportedErrors), ...more].join('; ') } };
}

type OptionalKey = 'production' | 'agent' | 'profiles' | 'disk_need_bytes' | 'registries' | 'variables' | 'secrets';
type ManifestJson = Omit<Manifest, OptionalKey> & {
  production?: boolean;
  agent?: Partial<Manifest['agent']>;
  profiles?: Manifest['profiles'];
  disk_need_bytes?: number;
  registries?: Manifest['registries'];
  variables?: Manifest['variables'];
  secrets: (Omit<ManifestSecret, 'version'> & { version?: number })[];
};

function parseJson(text: string): { json: unknown } | string {
  if (text.length > maxManifestCharacters) return `larger than ${maxManifestCharacters} characters`;
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return 'is not JSON';
  }
}

function schemaErrors(json: unknown): string[] {
  if (validate(json)) return [];
  // an error `propertyNames` only repeats that a name is wrong
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'propertyNames');
  return [...new Set(errors.map(formatSchemaError))];
}

function formatSchemaError({ instancePath, keyword, params, parentSchema, propertyName }: ErrorObject): string {
  const { properties, description } = parentSchema as { properties?: object; description?: string };
  const pathTo = (key: unknown) => printable(formatPointer(`${instancePath}/${String(key)}`));
  if (keyword === 'required') return `${pathTo(params['missingProperty'])}: is missing`;
  if (keyword === 'additionalProperties') {
    return `${pathTo(params['additionalProperty'])}: is not a known key (${Object.keys(properties ?? {}).join(', ')})`;
  }
  const path = propertyName === undefined ? printable(formatPointer(instancePath)) : pathTo(propertyName);
  return `${path}: must be ${description ?? 'something else'}`;
}

/** `/secrets/0/var` as `secrets[0].var`. */
function formatPointer(pointer: string): string {
  return pointer === ''
    ? 'manifest'
    : pointer
        .slice(1)
        .replace(/\/(\d+)/g, '[$1]')
        .replaceAll('/', '.');
}

function withDefaults(parsed: ManifestJson): Manifest {
  return {
    ...parsed,
    production: parsed.production ?? false,
    agent: { allow_privileged: false, allow_rollback: false, ...parsed.agent },
    profiles: parsed.profiles ?? [],
    disk_need_bytes: parsed.disk_need_bytes ?? null,
    variables: parsed.variables ?? {},
    secrets: parsed.secrets.map((secret) => ({ ...secret, version: secret.version ?? null })),
    registries: parsed.registries ?? [],
  };
}

/** Errors that no schema can find: fields that contradict each other, the agent or this host. */
function crossFieldErrors(json: unknown, env: string): string[] {
  const manifest = asObject(json);
  const secrets = asArray(manifest['secrets']).map((secret) => asObject(secret)['var']);
  const registries = asArray(manifest['registries']).map(asObject);
  const [compose, profiles] = [asArray(manifest['compose']), asArray(manifest['profiles'])];
  const secretNames = new Set(secrets);
  const hosts = registries.map(({ host }) => (typeof host === 'string' ? host.toLowerCase() : host));
  return [
    ...(typeof manifest['env'] === 'string' && manifest['env'] !== env ? [`env: must be ${env}, this host's env`] : []),
    ...variableErrors(asObject(manifest['variables']), secretNames),
    ...secrets.flatMap((name, index) =>
      typeof name === 'string' && isReservedVariable(name)
        ? [`secrets[${index}].var: ${printable(name)} ${isReserved}`]
        : [],
    ),
    ...duplicateIndexes(secrets).map((index) => `secrets[${index}].var: stands twice`),
    ...duplicateIndexes(compose).map((index) => `compose[${index}]: stands twice`),
    ...duplicateIndexes(profiles).map((index) => `profiles[${index}]: stands twice`),
    ...duplicateIndexes(hosts).map((index) => `registries[${index}].host: stands twice`),
    ...registries.flatMap((registry, index) =>
      ['username_var', 'password_var']
        .filter((key) => typeof registry[key] === 'string' && !secretNames.has(registry[key]))
        .map((key) => `registries[${index}].${key}: is not a variable of secrets`),
    ),
  ];
}

const isReserved = 'is reserved to compose, docker, the process or deployd';

function variableErrors(variables: Record<string, unknown>, secretNames: ReadonlySet<unknown>): string[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    const faults = [
      isReservedVariable(name) && isReserved,
      secretNames.has(name) && 'is a variable of secrets too',
      typeof value === 'string' && unusableReason(name, value),
    ];
    return faults.filter((fault) => typeof fault === 'string').map((fault) => `variables.${printable(name)}: ${fault}`);
  });
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Indexes of the strings that occur at an earlier index too. */
function duplicateIndexes(items: readonly unknown[]): number[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const isDuplicate = typeof item === 'string' && seen.has(item);
    seen.add(item);
    return isDuplicate ? [index] : [];
  });
}
