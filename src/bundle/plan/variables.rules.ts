import { type Refusal, refusalWith } from '../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../machines/types.ts';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { envFilesOf } from '../compose/composeProject.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  itemsOf,
  type Mapping,
  scalarsOf,
  textOf,
  valueAt,
} from '../compose/composeNode.rules.ts';
import { type MergedFiles, mergedFilesOf } from '../compose/services.rules.ts';
import { parseEnvAssignments, variablesOf, type VariableUse } from '../compose/variables.rules.ts';

/** Variables that the agent adds to `.env`. */
const agentVariables = ['DEPLOYD_ENV', 'DEPLOYD_SHA', 'DEPLOYD_VERSION'];

/** Compose files, and the texts of the env files that they reference, by path. */
interface BundleSources {
  project: MergedFiles;
  texts: ReadonlyMap<string, string>;
}

/** ENV_INCOMPLETE with every variable that neither the manifest nor the agent sets, or null (spec §9). */
export function validateVariables(bundle: BundleSources, manifest: Manifest): Refusal | null {
  const logins = new Set(manifest.registries.flatMap(({ username_var, password_var }) => [username_var, password_var]));
  const secrets = manifest.secrets.map((secret) => secret.var).filter((name) => !logins.has(name));
  const supplied = new Set([...Object.keys(manifest.variables), ...secrets, ...agentVariables]);
  const unresolved = unresolvedVariables(bundle, supplied);
  const cure = 'add them to variables or secrets of manifest.json, or give them a default';
  return unresolved.length === 0
    ? null
    : refusalWith('ENV_INCOMPLETE', [{ text: `unresolved: ${unresolved.join(', ')}`, cure }]);
}

/**
 * Names that the files require and `supplied` lacks, sorted, without duplicates. A reserved variable is required despite a
 * default, because compose would take its value from its own environment.
 */
export function unresolvedVariables(sources: BundleSources, supplied: ReadonlySet<string>): string[] {
  const needed = variableUses(sources).filter(({ name, required }) => required || isReservedVariable(name));
  const missing = needed.map(({ name }) => name).filter((name) => !supplied.has(name));
  return [...new Set(missing)].sort().map(printable);
}

/** Every use of a variable in the files, and in the env files that they name. */
function variableUses({ project, texts }: BundleSources): VariableUse[] {
  const inFiles = project.files.flatMap(({ root }) => [
    ...scalarsOf(root).flatMap(({ text }) => variablesOf(text).uses),
    ...bareVariableNames(root),
  ]);
  const inEnvFiles = envFilesOf(project).flatMap(({ path, isRaw }) =>
    isRaw ? [] : envFileUses(texts.get(path) ?? ''),
  );
  return [...inFiles, ...inEnvFiles];
}

/** Variables used in the values of an env file, except those that an earlier line sets. */
function envFileUses(text: string): VariableUse[] {
  const set = new Set<string>();
  return parseEnvAssignments(text).lines.flatMap(({ name, template }) => {
    const uses = variablesOf(template).uses.filter((use) => isReservedVariable(use.name) || !set.has(use.name));
    set.add(name);
    return uses;
  });
}

/** Names without `$`: without a value in `environment`, or as the `environment` of a config or secret. */
function bareVariableNames(root: ComposeNode): VariableUse[] {
  const services = entriesOf(valueAt(root, 'services')).map(([, service]) => service);
  const hooks = services.flatMap((service) =>
    ['post_start', 'pre_start', 'pre_stop'].flatMap((key) => itemsOf(valueAt(service, key))),
  );
  const contents = ['configs', 'secrets'].flatMap((key) => entriesOf(valueAt(root, key)).map(([, content]) => content));
  return [
    ...[...services, ...hooks].flatMap((owner) => namesWithoutValue(valueAt(owner, 'environment'))),
    ...contents
      .flatMap((content) => textOf(valueAt(content, 'environment')) ?? [])
      .filter((name) => !name.includes('$')),
  ].map((name) => ({ name, required: true }));
}

/** The names in an `environment` whose value compose takes from its own environment. */
export function namesWithoutValue(environment: ComposeNode | undefined): string[] {
  const unset = entriesOf(environment).filter(([, value]) => value.kind === 'scalar' && value.isNull);
  const items = environment?.kind === 'list' ? environment.items.flatMap((item) => textOf(item) ?? []) : [];
  return [...unset.map(([name]) => name), ...items.filter((item) => !/[=$]/.test(item))];
}

/**
 * For each service with values of secrets in its own text, not in mounted files, the variables: a swarm shows these
 * values to everyone who may inspect services.
 */
export function shownSecrets({ project, texts }: BundleSources, secrets: readonly string[]): string[] {
  return [...project.services].flatMap(([name, layers]) => {
    const alone = mergedFilesOf(layers.map((layer) => ({ root: mapping('services', mapping(name, layer)) })));
    const used = new Set(variableUses({ project: alone, texts }).map((use) => use.name));
    const shown = secrets.filter((secret) => used.has(secret)).toSorted();
    return shown.length === 0
      ? []
      : [`service ${printable(name)}: ${shown.join(', ')}, to whoever may inspect services`];
  });
}

function mapping(key: string, value: ComposeNode): Mapping {
  return { kind: 'map', entries: new Map([[key, value]]), line: value.line };
}

/** SECRET_PATH_REFUSED with every path outside the env's branch of the secretstore, or null (spec §9). */
export function validateSecretPaths({ env, secrets }: Manifest): Refusal | null {
  const branch = `deployd/data/${env}/see/`;
  const faults = secrets.flatMap((secret) => {
    const fault = secret.path.startsWith(branch) ? pathFault(secret.path.slice(branch.length)) : 'leads elsewhere';
    const text = `${secret.var}: ${printable(secret.path)} ${fault}`;
    return fault === null ? [] : [{ text, cure: `write a path below ${branch}` }];
  });
  return faults.length === 0 ? null : refusalWith('SECRET_PATH_REFUSED', faults);
}

/** Allows only characters that need no escaping in a URL and that no proxy or server interprets. */
function pathFault(path: string): string | null {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'has an empty, "." or ".." part';
  return /^[A-Za-z0-9._~@+=:,/-]+$/.test(path) ? null : 'has a character other than letters, digits and ._~@+=:,-';
}

/** The sources of the values of variables that are not secrets. */
export interface VariableFacts {
  /** Null for a directory. */
  sha: Sha | null;
  version: string;
  /** The bundle's own variables. */
  variables: Readonly<Record<string, string>>;
}

/** The variables whose values are known: the variables of the bundle and two of the agent. */
export function knownVariables({ sha, version, variables }: VariableFacts): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(variables),
    ['DEPLOYD_SHA', sha ?? 'of a directory'],
    ['DEPLOYD_VERSION', version],
  ]);
}

/** Inserts known variables into an image reference, but for those with an alternative or a nested default. */
export function withKnownVariables(image: string, known: ReadonlyMap<string, string>): string {
  const pattern = /\$(?<named>[A-Za-z_]\w*)|\$\{(?<braced>[A-Za-z_]\w*)(?:(?<operator>:?[-?])[^{}$]*)?\}/g;
  return image.replaceAll(pattern, (...match: unknown[]) => {
    const { named = '', braced = named, operator = '' } = match.at(-1) as Record<string, string | undefined>;
    const value = known.get(braced);
    return value === undefined || (value === '' && operator.startsWith(':')) ? String(match[0]) : value;
  });
}
