import type { ErrorObject } from 'ajv';
import { type Refusal, refusalWith, type RefusedFault } from '../../machines/refusals.ts';
import type { Manifest } from '../../machines/types.ts';
import { duplicateKeys } from '../core/json.rules.ts';
import { encodingFault, printable, saveAsUtf8 } from '../core/text.rules.ts';
import { validate, type WrittenManifest } from './manifestValidator.ts';

/** Limit against bundles that try to exhaust the agent; an ordinary manifest is a page of text. */
export const maxManifestCharacters = 262_144;
const maxReportedErrors = 100;

/**
 * Parses `manifest.json` and fills in the defaults; MANIFEST_INVALID lists every error with its path and its cure (spec
 * §5).
 */
export function parseManifest(text: string, env: string): { manifest: Manifest } | { refusal: Refusal } {
  const parsed = parseJson(text);
  if ('text' in parsed) return manifestInvalid([parsed]);
  const errors = [
    ...duplicateKeys(text).map((key) => ({ text: `${printable(key)}: stands twice`, cure: leaveOneOut })),
    ...schemaErrors(parsed.json),
    ...crossFieldErrors(parsed.json, env),
  ];
  return errors.length > 0 ? manifestInvalid(errors) : { manifest: withDefaults(parsed.json as WrittenManifest) };
}

const leaveOneOut = 'leave one of them out';

function manifestInvalid(errors: RefusedFault[]): { refusal: Refusal } {
  const more = errors.length - maxReportedErrors;
  const faults = [...errors.slice(0, maxReportedErrors), ...(more > 0 ? [{ text: `and ${more} more`, cure: '' }] : [])];
  return { refusal: refusalWith('MANIFEST_INVALID', faults) };
}

function parseJson(text: string): { json: unknown } | RefusedFault {
  if (text.length > maxManifestCharacters)
    return { text: `larger than ${maxManifestCharacters} characters`, cure: 'put the values into files of the bundle' };
  const fault = encodingFault(text);
  if (fault !== null) return { text: fault, cure: saveAsUtf8 };
  try {
    return { json: JSON.parse(text) as unknown };
  } catch {
    return { text: 'is not JSON', cure: 'write it without comments and trailing commas' };
  }
}

function schemaErrors(json: unknown): RefusedFault[] {
  if (validate(json)) return [];
  // an error `propertyNames` only repeats that a name is wrong
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'propertyNames').map(schemaFault);
  return [...new Map(errors.map((error) => [error.text, error])).values()];
}

function schemaFault({ instancePath, keyword, params, parentSchema, propertyName }: ErrorObject): RefusedFault {
  const { properties = {}, description } = parentSchema as ParentSchema;
  const pathTo = (key: unknown) => printable(formatPointer(`${instancePath}/${String(key)}`));
  if (keyword === 'required') {
    const key = String(params['missingProperty']);
    return { text: `${pathTo(key)}: is missing`, cure: `write ${properties[key]?.description ?? 'it'}` };
  }
  if (keyword === 'additionalProperties') {
    const text = `${pathTo(params['additionalProperty'])}: is not a known key (${Object.keys(properties).join(', ')})`;
    return { text, cure: 'leave it out, or write one of these' };
  }
  const path = propertyName === undefined ? printable(formatPointer(instancePath)) : pathTo(propertyName);
  return { text: `${path}: must be ${description ?? 'something else'}`, cure: '' };
}

interface ParentSchema {
  properties?: Record<string, { description?: string }>;
  description?: string;
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

function withDefaults(parsed: WrittenManifest): Manifest {
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
function crossFieldErrors(json: unknown, env: string): RefusedFault[] {
  const manifest = asObject(json);
  const secrets = asArray(manifest['secrets']).map((secret) => asObject(secret)['var']);
  const registries = asArray(manifest['registries']).map(asObject);
  const [compose, profiles] = [asArray(manifest['compose']), asArray(manifest['profiles'])];
  const secretNames = new Set(secrets);
  const hosts = registries.map(({ host }) => (typeof host === 'string' ? host.toLowerCase() : host));
  const own = manifest['env'];
  return [
    ...(typeof own === 'string' && own !== env
      ? [{ text: `env: must be ${env}, this host's environment`, cure: 'make a bundle for each environment' }]
      : []),
    ...variableErrors(asObject(manifest['variables']), secretNames),
    ...secrets.flatMap((name, index) =>
      typeof name === 'string' && isReservedVariable(name)
        ? [{ text: `secrets[${index}].var: ${printable(name)} ${isReserved.text}`, cure: isReserved.cure }]
        : [],
    ),
    ...duplicateErrors(secrets, (index) => `secrets[${index}].var`),
    ...duplicateErrors(compose, (index) => `compose[${index}]`),
    ...duplicateErrors(profiles, (index) => `profiles[${index}]`),
    ...duplicateErrors(hosts, (index) => `registries[${index}].host`),
    ...registries.flatMap((registry, index) =>
      ['username_var', 'password_var']
        .filter((key) => typeof registry[key] === 'string' && !secretNames.has(registry[key]))
        .map((key) => ({
          text: `registries[${index}].${key}: is not a variable of secrets`,
          cure: 'add it to secrets',
        })),
    ),
  ];
}

const isReserved = { text: 'is reserved to compose, docker, the process or deployd', cure: 'give it another name' };

function variableErrors(variables: Record<string, unknown>, secretNames: ReadonlySet<unknown>): RefusedFault[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    const unusable = typeof value === 'string' ? unusableReason(name, value) : null;
    const faults = [
      ...(isReservedVariable(name) ? [isReserved] : []),
      ...(secretNames.has(name) ? [{ text: 'is a variable of secrets too', cure: leaveOneOut }] : []),
      ...(unusable === null ? [] : [{ text: unusable, cure: 'give it another value' }]),
    ];
    return faults.map(({ text, cure }) => ({ text: `variables.${printable(name)}: ${text}`, cure }));
  });
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** An error for each string that occurs at an earlier index too. */
function duplicateErrors(items: readonly unknown[], pathOf: (index: number) => string): RefusedFault[] {
  const seen = new Set<unknown>();
  return items.flatMap((item, index) => {
    const isDuplicate = typeof item === 'string' && seen.has(item);
    seen.add(item);
    return isDuplicate ? [{ text: `${pathOf(index)}: stands twice`, cure: leaveOneOut }] : [];
  });
}

/** The text of a valid manifest with other values of some keys; everything else stays unchanged, in its order. */
export function changeManifest(text: string, change: (manifest: Manifest) => Partial<Manifest>): string {
  const manifest = JSON.parse(text) as Manifest;
  return `${JSON.stringify({ ...manifest, ...change(manifest) }, null, 2)}\n`;
}

/** In `.env`, these would configure compose, docker, the process or the agent (`COMPOSE_FILE` selects other files). */
const reservedPrefixes = /^(DEPLOYD_|COMPOSE_|DOCKER_|BUILDKIT_|BUILDX_|LD_|XDG_|SSH_|PYTHON|GIT_)/;
const reservedNames =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|IFS|NODE_OPTIONS|SSL_CERT_FILE|SSL_CERT_DIR|_|SHLVL|OTEL_RESOURCE_ATTRIBUTES)$/;
const proxyVariables = /^(https?|no|all|ftp)_proxy$/i;

/** True for a variable that no bundle may set (spec §5). */
export function isReservedVariable(variable: string): boolean {
  return reservedPrefixes.test(variable) || reservedNames.test(variable) || proxyVariables.test(variable);
}

/** Longest `NAME=value`, in bytes, that the kernel passes to a process: MAX_ARG_STRLEN less the terminating NUL. */
const maxAssignmentBytes = 131_071;

/** Why a value cannot be the environment variable `name`, without the value itself; null when it can (spec §9). */
export function unusableReason(name: string, value: unknown): string | null {
  if (typeof value !== 'string') return 'is not a string';
  if (value.includes('\0')) return 'holds a NUL character';
  if (!value.isWellFormed()) return 'is not valid Unicode (lone surrogate)';
  const bytes = Buffer.byteLength(`${name}=${value}`);
  const isTooLong = bytes > maxAssignmentBytes;
  return isTooLong ? `is too long: ${printable(name)}=value takes ${bytes} of ${maxAssignmentBytes} bytes` : null;
}
