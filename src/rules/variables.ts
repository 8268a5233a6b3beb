import type { Manifest, Refusal } from '../../machines/words.ts';
import { shown } from './compose/finding.ts';
import { at, entriesOf, itemsOf, scalarsOf, textOf, type ComposeFile, type Tree } from './compose/tree.ts';

/** One occurrence of a variable; `required` where it has no default and no alternative. */
export interface Use {
  name: string;
  required: boolean;
}

/** What the agent itself writes beside the secrets. */
const ownVariables = ['DEPLOYD_ENV', 'DEPLOYD_SHA', 'DEPLOYD_VERSION'];

/** ENV_INCOMPLETE with every variable that neither the manifest nor the agent supplies, or null (spec §9). */
export function judgeVariables(files: readonly ComposeFile[], manifest: Manifest): Refusal | null {
  const logins = new Set(manifest.registries.flatMap(({ username_var, password_var }) => [username_var, password_var]));
  const secrets = manifest.secrets.map((secret) => secret.var).filter((name) => !logins.has(name));
  const unresolved = unresolvedVariables(files, new Set([...secrets, ...ownVariables]));
  return unresolved.length === 0 ? null : { code: 'ENV_INCOMPLETE', detail: `unresolved: ${unresolved.join(', ')}` };
}

/** Names that the files need and `supplied` lacks, sorted, each once. */
export function unresolvedVariables(files: readonly ComposeFile[], supplied: ReadonlySet<string>): string[] {
  const needed = files.flatMap(({ root }) => [
    ...scalarsOf(root).flatMap(({ text }) => variablesOf(text).uses.filter(({ required }) => required)),
    ...bareNames(root),
  ]);
  const missing = needed.map(({ name }) => name).filter((name) => !supplied.has(name));
  return [...new Set(missing)].sort().map(shown);
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

/** ſ and K are letters to compose, which compares without regard to case. */
const letter = 'A-Za-z_\u017f\u212a';
const name = `[${letter}][${letter}0-9]*`;
const token = new RegExp(
  [
    String.raw`\$\$`,
    String.raw`\$(?<named>${name})`,
    String.raw`\$\{(?<braced>${name})(?:(?<operator>:?[-?+])[^\n]*)?\}`,
    String.raw`(?<malformed>\$\{)`,
  ].join('|'),
  'g',
);

/** The time that compose takes for a line grows with its length times its variables. */
const maxVariables = 100;

/**
 * Every variable of a text by compose's grammar, those nested in defaults and alternatives by their own form;
 * `error` where compose would refuse the text.
 */
export function variablesOf(text: string): { uses: Use[]; error?: string } {
  if (!text.includes('$')) return { uses: [] };
  const isCrowded = text.split('\n').some((line) => line.split('${').length > maxVariables + 1);
  if (isCrowded) return { uses: [], error: `more than ${maxVariables} variables on a line of ${shown(text)}` };
  const found = usesOf(text);
  const uses = found.filter((use) => use !== null);
  return found.includes(null) ? { uses, error: `malformed variable in ${shown(text)}` } : { uses };
}

/**
 * Reads as compose does: a variable with a default or the like reaches to the last brace of its line, or is cut where its
 * own braces balance; what it holds and what was cut off are texts of their own. Null stands for what is no variable.
 */
function usesOf(text: string): (Use | null)[] {
  return [...text.matchAll(token)].flatMap(({ 0: variable, groups = {} }) => {
    const { named, braced, operator = '', malformed } = groups;
    if (malformed !== undefined) return [null];
    if (named !== undefined) return [{ name: named, required: true }];
    if (braced === undefined) return [];
    const end = endOf(variable);
    const [inner, rest] = [variable.slice(2 + braced.length + operator.length, end), variable.slice(end + 1)];
    return [{ name: braced, required: !/[-+]/.test(operator) }, ...usesOf(inner), ...usesOf(rest)];
  });
}

/** Where the braces of a variable balance for compose, which skips what follows an opening one; else at its end. */
function endOf(variable: string): number {
  let open = 0;
  for (const { 0: brace, index } of variable.matchAll(/\{[^]?|\}/g)) {
    open += brace === '}' ? -1 : 1;
    if (open === 0) return index;
  }
  return variable.length - 1;
}
