import type { ErrorObject } from 'ajv';
import type { Manifest, ManifestSecret, Refusal } from '../../machines/words.ts';
import { printable } from './printable.ts';
import { duplicateKeys } from './jsonKeys.ts';
import { validate } from './manifestValidator.ts';
import { isReserved } from './reservedVariables.ts';

/** A manifest is a page of text; more is made to exhaust the agent. */
export const maxCharacters = 262_144;
const toldFaults = 100;

/** Reads `manifest.json` and fills in its defaults; MANIFEST_INVALID tells every fault with its place (spec §5). */
export function parseManifest(text: string, env: string): { manifest: Manifest } | { refusal: Refusal } {
  const written = read(text);
  if (typeof written === 'string') return refusal([written]);
  const faults = [
    ...duplicateKeys(text).map((key) => `${printable(key)}: stands twice`),
    ...schemaFaults(written.json),
    ...contradictions(written.json, env),
  ];
  return faults.length > 0 ? refusal(faults) : { manifest: withDefaults(written.json as Written) };
}

function refusal(faults: string[]): { refusal: Refusal } {
  const more = faults.length > toldFaults ? [`and ${faults.length - toldFaults} more`] : [];
  return { refusal: { code: 'MANIFEST_INVALID', detail: [...faults.slice(0, toldFaults), ...more].join('; ') } };
}

type Optional = 'production' | 'agent' | 'disk_need_bytes' | 'registries' | 'secrets';
type Written = Omit<Manifest, Optional> & {
  production?: boolean;
  agent?: Partial<Manifest['agent']>;
  disk_need_bytes?: number;
  registries?: Manifest['registries'];
  secrets: (Omit<ManifestSecret, 'version'> & { version?: number })[];
};

function read(text: string): { json: unknown } | string {
  if (text.length > maxCharacters) return `larger than ${maxCharacters} characters`;
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return 'is not JSON';
  }
}

function schemaFaults(json: unknown): string[] {
  return validate(json) ? [] : [...new Set((validate.errors ?? []).map(faultText))];
}

function faultText({ instancePath, keyword, params, parentSchema }: ErrorObject): string {
  const { properties, description } = parentSchema as { properties?: object; description?: string };
  const below = (key: unknown) => printable(pathOf(`${instancePath}/${String(key)}`));
  if (keyword === 'required') return `${below(params['missingProperty'])}: is missing`;
  if (keyword === 'additionalProperties') {
    return `${below(params['additionalProperty'])}: is not a known key (${Object.keys(properties ?? {}).join(', ')})`;
  }
  return `${pathOf(instancePath)}: must be ${description ?? 'something else'}`;
}

/** `/secrets/0/var` as `secrets[0].var`. */
function pathOf(pointer: string): string {
  return pointer === ''
    ? 'manifest'
    : pointer
        .slice(1)
        .replace(/\/(\d+)/g, '[$1]')
        .replaceAll('/', '.');
}

function withDefaults(written: Written): Manifest {
  return {
    ...written,
    production: written.production ?? false,
    agent: { allow_privileged: false, allow_rollback: false, ...written.agent },
    disk_need_bytes: written.disk_need_bytes ?? null,
    secrets: written.secrets.map((secret) => ({ ...secret, version: secret.version ?? null })),
    registries: written.registries ?? [],
  };
}

/** What no schema can say: where parts of a manifest contradict each other, the agent or this host. */
function contradictions(json: unknown, env: string): string[] {
  const manifest = objectOf(json);
  const secrets = listOf(manifest['secrets']).map((secret) => objectOf(secret)['var']);
  const registries = listOf(manifest['registries']).map(objectOf);
  const compose = listOf(manifest['compose']);
  const variables = new Set(secrets);
  const hosts = registries.map(({ host }) => (typeof host === 'string' ? host.toLowerCase() : host));
  return [
    ...(typeof manifest['env'] === 'string' && manifest['env'] !== env ? [`env: must be ${env}, this host's env`] : []),
    ...secrets.flatMap((name, index) =>
      typeof name === 'string' && isReserved(name)
        ? [`secrets[${index}].var: ${printable(name)} is reserved to compose, docker, the process or deployd`]
        : [],
    ),
    ...twice(secrets).map((index) => `secrets[${index}].var: stands twice`),
    ...twice(compose).map((index) => `compose[${index}]: stands twice`),
    ...twice(hosts).map((index) => `registries[${index}].host: stands twice`),
    ...registries.flatMap((registry, index) =>
      ['username_var', 'password_var']
        .filter((key) => typeof registry[key] === 'string' && !variables.has(registry[key]))
        .map((key) => `registries[${index}].${key}: is not a variable of secrets`),
    ),
  ];
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Indexes of the texts that stand earlier already. */
function twice(items: readonly unknown[]): number[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const isKnown = typeof item === 'string' && seen.has(item);
    seen.add(item);
    return isKnown ? [index] : [];
  });
}
