import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { envFilesOf } from '../compose/document/composeContents.ts';
import { parseEnvAssignments } from '../compose/document/envFileText.ts';
import { printable } from '../../../protocol/printable.ts';
import {
  valueAt,
  entriesOf,
  itemsOf,
  scalarsOf,
  textOf,
  type ComposeFile,
  type ComposeNode,
} from '../compose/document/composeNode.ts';
import { variablesOf, type VariableUse } from '../compose/document/interpolation.ts';
import { isReservedVariable } from '../../../protocol/reservedVariables.ts';

/** Variables that the agent adds to `.env`. */
const agentVariables = ['DEPLOYD_ENV', 'DEPLOYD_SHA', 'DEPLOYD_VERSION'];

/** Compose files, and the texts of the env files that they reference, by path. */
export interface BundleSources {
  files: readonly ComposeFile[];
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
export function variableUses({ files, texts }: BundleSources): VariableUse[] {
  const inFiles = files.flatMap(({ root }) => [
    ...scalarsOf(root).flatMap(({ text }) => variablesOf(text).uses),
    ...bareVariableNames(root),
  ]);
  const inEnvFiles = envFilesOf(files).flatMap(({ path, isRaw }) => (isRaw ? [] : envFileUses(texts.get(path) ?? '')));
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
