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
const token = new RegExp(
  [
    String.raw`(?<escaped>\$\$)`,
    String.raw`\$(?<named>[${letter}][${letter}0-9]*)`,
    String.raw`\$\{(?<braced>[${letter}][${letter}0-9]*)(?<operator>:?[-?+]|(?=\}))`,
    String.raw`(?<malformed>\$\{)`,
    String.raw`(?<brace>[{}\n])`,
  ].join('|'),
  'g',
);

/**
 * Every variable of a text by compose's grammar, those nested in defaults and alternatives by their own form;
 * `error` where compose would refuse the text.
 */
export function variablesOf(text: string): { uses: Use[]; error?: string } {
  const uses: Use[] = [];
  let depth = 0;
  for (const { groups = {} } of text.matchAll(token)) {
    const { named, braced, operator, malformed, brace } = groups;
    if (named !== undefined) uses.push({ name: named, required: true });
    if (braced !== undefined) uses.push({ name: braced, required: !/[-+]/.test(operator ?? '') });
    if (malformed !== undefined) return { uses, error: `malformed variable in ${shown(text)}` };
    if (brace === '\n' && depth > 0) return { uses, error: `a line end inside a variable in ${shown(text)}` };
    if (braced !== undefined || (brace === '{' && depth > 0)) depth += 1;
    if (brace === '}' && depth > 0) depth -= 1;
  }
  return depth === 0 ? { uses } : { uses, error: `unclosed variable in ${shown(text)}` };
}
