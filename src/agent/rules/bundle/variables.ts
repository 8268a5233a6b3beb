import type { Manifest, Refusal } from '../../../../machines/words.ts';
import { envFilesOf } from '../compose/contents.ts';
import { envLinesOf } from '../compose/envText.ts';
import { printable } from '../../../protocol/printable.ts';
import { at, entriesOf, itemsOf, scalarsOf, textOf, type ComposeFile, type Tree } from '../compose/tree.ts';
import { variablesOf, type Use } from '../compose/uses.ts';
import { isReserved } from '../../../protocol/reservedVariables.ts';

/** What the agent itself writes beside the secrets. */
const ownVariables = ['DEPLOYD_ENV', 'DEPLOYD_SHA', 'DEPLOYD_VERSION'];

/** Compose files, and the texts of the env files that they name, by path. */
export interface Readable {
  files: readonly ComposeFile[];
  texts: ReadonlyMap<string, string>;
}

/** ENV_INCOMPLETE with every variable that neither the manifest nor the agent supplies, or null (spec §9). */
export function judgeVariables(bundle: Readable, manifest: Manifest): Refusal | null {
  const logins = new Set(manifest.registries.flatMap(({ username_var, password_var }) => [username_var, password_var]));
  const secrets = manifest.secrets.map((secret) => secret.var).filter((name) => !logins.has(name));
  const unresolved = unresolvedVariables(bundle, new Set([...secrets, ...ownVariables]));
  return unresolved.length === 0 ? null : { code: 'ENV_INCOMPLETE', detail: `unresolved: ${unresolved.join(', ')}` };
}

/**
 * Names that the files need and `supplied` lacks, sorted, each once. A name of compose's own environment is needed whatever
 * its default, for compose would find a value there that nobody supplied.
 */
export function unresolvedVariables({ files, texts }: Readable, supplied: ReadonlySet<string>): string[] {
  const inFiles = files.flatMap(({ root }) => [
    ...scalarsOf(root).flatMap(({ text }) => variablesOf(text).uses),
    ...bareNames(root),
  ]);
  const inEnvFiles = envFilesOf(files).flatMap(({ path, isRaw }) => (isRaw ? [] : envUses(texts.get(path) ?? '')));
  const needed = [...inFiles, ...inEnvFiles].filter(({ name, required }) => required || isReserved(name));
  const missing = needed.map(({ name }) => name).filter((name) => !supplied.has(name));
  return [...new Set(missing)].sort().map(printable);
}

/** What the values of an env file use, but for what its lines before have set. */
function envUses(text: string): Use[] {
  const set = new Set<string>();
  return envLinesOf(text).lines.flatMap(({ name, template }) => {
    const uses = variablesOf(template).uses.filter((use) => isReserved(use.name) || !set.has(use.name));
    set.add(name);
    return uses;
  });
}

/** Names that stand without `$`: alone in an `environment`, or as the `environment` of a config or secret. */
function bareNames(root: Tree): Use[] {
  const services = entriesOf(at(root, 'services')).map(([, service]) => service);
  const hooks = services.flatMap((service) =>
    ['post_start', 'pre_start', 'pre_stop'].flatMap((key) => itemsOf(at(service, key))),
  );
  const contents = ['configs', 'secrets'].flatMap((key) => entriesOf(at(root, key)).map(([, content]) => content));
  return [
    ...[...services, ...hooks].flatMap((owner) => namesAlone(at(owner, 'environment'))),
    ...contents.flatMap((content) => textOf(at(content, 'environment')) ?? []).filter((name) => !name.includes('$')),
  ].map((name) => ({ name, required: true }));
}

function namesAlone(environment: Tree | undefined): string[] {
  const unset = entriesOf(environment).filter(([, value]) => value.kind === 'scalar' && value.isNull);
  const items = environment?.kind === 'list' ? environment.items.flatMap((item) => textOf(item) ?? []) : [];
  return [...unset.map(([name]) => name), ...items.filter((item) => !/[=$]/.test(item))];
}
