import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { textParts, type TextVariable } from '../compose/variables.rules.ts';
import {
  bringFile,
  change,
  type ImportWork,
  isKeyFile,
  joinPath,
  partsOf,
  type Place,
  unescapeDollars,
} from './importWork.rules.ts';
import { mapTexts, type Part, partAt, removeKeys, textAt, textsOf } from './model.rules.ts';
import { hidden, type SecretPart, secretPartsIn } from './secretSigns.rules.ts';

/**
 * Brings the files of configs along; secrets, and configs that hold a key, get their content from the secretstore. A host
 * refuses a config whose file is not in the project.
 */
export function replaceContents(work: ImportWork): void {
  for (const section of ['configs', 'secrets'] as const)
    for (const { name, part, owner } of partsOf(work, section)) {
      const file = textAt(part, 'file');
      const path = joinPath('.', file);
      const isOwn = !/^[/~]|\$/.test(file) && work.tree.kindOf(path) === 'file';
      const isSecret =
        section === 'secrets' ? file !== '' || part['external'] === true : isOwn && isKeyFile(path, work);
      if (isSecret) readFromSecretstore(part, name, { work, place: { owner, key: 'file' } });
      else if (file !== '' && isOwn) part['file'] = `./${bringFile(path, work)}`;
    }
}

interface Context {
  work: ImportWork;
  place: Place;
}

function readFromSecretstore(content: Part, name: string, { work, place }: Context): void {
  const file = textAt(content, 'file');
  const variable = work.register.variableFor(name.toUpperCase(), 'FILE', `file of ${name}`);
  if (file !== '' && !/^~|\$/.test(file)) work.secretSources.set(variable, { path: file, isEnvFile: false });
  const lost = Object.keys(content).filter((key) => key !== 'file');
  const without = lost.length === 0 ? '' : `, without ${lost.join(', ')}`;
  const what = `its content is the environment variable ${variable} now${without}`;
  change(work, place, [what, 'it is a secret, and a bundle holds none'], (part) => {
    removeKeys(part, ...Object.keys(part));
    part['environment'] = variable;
  });
}

/** Replaces secrets in `environment` by variables, and drops names that have no value here. */
export function replaceEnvironmentSecrets(work: ImportWork): void {
  for (const { part, owner } of partsOf(work)) {
    const environment = partAt(part, 'environment');
    for (const [name, value] of Object.entries(environment)) {
      const context = { work, place: { owner, key: `environment.${name}` } };
      if (typeof value === 'string') environment[name] = withoutSecret(name, value, context);
      else if (work.register.isSecret(name, null)) {
        if (!isReservedVariable(name)) continue;
        environment[name] = `\${${variableFor(name, '', context)}}`;
        tellSecret(context, `is ${String(environment[name])} now`);
      } else
        change(work, context.place, [`${printable(name)} is left out`, 'it has no value in the project'], (service) =>
          removeKeys(partAt(service, 'environment'), name),
        );
    }
  }
}

/** A value of the environment, with variables for its secrets: one for the whole, unless it has variables itself. */
function withoutSecret(name: string, text: string, context: Context): string {
  const { values, isSecret } = context.work.register;
  const content = unescapeDollars(text);
  if (text === '') return text;
  // The value of an env file may contain a variable without a value.
  const shown = text.replace(/(?<!\$)\$\{(\w+)\}/g, (all, other: string) => (values.has(other) ? all : ''));
  if (!isReservedVariable(name) && shown !== '' && values.get(name) === unescapeDollars(shown)) return `\${${name}}`;
  if (isLiteral(text) && !isSecret(name, content)) return text;
  const replaced = isLiteral(text)
    ? `\${${variableFor(name, text, context)}}`
    : (withoutSecretParts([text], ' ', context).texts[0] ?? '');
  if (replaced !== text)
    tellSecret(context, isLiteral(text) ? `is ${replaced} now` : 'has variables for its secrets now');
  return replaced;
}

function isLiteral(text: string): boolean {
  return textParts(text).every((part) => typeof part === 'string');
}

function tellSecret({ work, place }: Context, what: string): void {
  change(work, place, [what, 'its value is a secret, and a bundle holds none']);
}

/** The variable for a secret of a file. */
function variableFor(name: string, text: string, { work, place: { owner } }: Context): string {
  const service = owner.slice(owner.indexOf(' ') + 1).toUpperCase();
  return work.register.variableFor(name, service, unescapeDollars(text));
}

/** Keys of services with texts for programs, and whether the texts of one are the words of a command. */
const programTexts: readonly [key: string, separator: string][] = [
  ...['command', 'entrypoint', 'healthcheck.test'].map((key): [string, string] => [key, ' ']),
  ...['labels', 'annotations', 'deploy.labels', 'logging.options', 'post_start', 'pre_stop'].map(
    (key): [string, string] => [key, '\n'],
  ),
];

/** Replaces secrets in commands, health checks, labels and the contents of configs by variables. */
export function replaceWrittenSecrets(work: ImportWork): void {
  for (const { part, owner } of partsOf(work))
    for (const [key, separator] of programTexts) replaceInTexts(part, separator, { work, place: { owner, key } });
  for (const { part, owner } of partsOf(work, 'configs'))
    replaceInTexts(part, '\n', { work, place: { owner, key: 'content' } });
}

function replaceInTexts(part: Part, separator: string, context: Context): void {
  const keys = context.place.key.split('.');
  const last = keys.pop() ?? '';
  const parent = partAt(part, ...keys);
  if (!(last in parent)) return;
  const { texts, variables } = withoutSecretParts(textsOf(parent[last]), separator, context);
  for (const variable of variables) tellSecret(context, `a part of it is \${${variable}} now`);
  parent[last] = mapTexts(parent[last], () => texts.shift() ?? '');
}

/**
 * Texts that belong together, such as the words of a command, with variables for the parts that are secrets. A word after
 * its option is a secret as a whole. `--variable NAME` denies a part with this name.
 */
function withoutSecretParts(
  texts: readonly string[],
  separator: string,
  context: Context,
): { texts: string[]; variables: string[] } {
  const { register, choices } = context.work;
  const parts = secretPartsOf(texts.join(separator), register).filter(({ name }) => !choices.variables.has(name));
  const variables: string[] = [];
  let at = 0;
  const replaced = texts.map((text) => {
    const [from, to] = [at, at + text.length];
    at = to + separator.length;
    const own = parts.filter(({ start, end }) => start >= from && end <= to);
    return own.toReversed().reduce((changed, { start, end, name }) => {
      const isWord = separator === ' ' && from > 0 && start === from && isLiteral(text);
      const last = isWord ? text.length : end - from;
      const variable = variableFor(name, text.slice(start - from, last), context);
      variables.unshift(variable);
      return `${changed.slice(0, start - from)}\${${variable}}${changed.slice(last)}`;
    }, text);
  });
  return { texts: replaced, variables };
}

/** Parts of a text that are secrets, but none in a variable that has a value or is a secret itself. */
function secretPartsOf(text: string, { values, isSecret }: ImportWork['register']): SecretPart[] {
  const isOpen = ({ name, operator }: TextVariable) =>
    operator.endsWith('-') && !values.has(name) && !isSecret(name, null);
  const shown = textParts(text).map((part) => {
    if (typeof part === 'string') return part;
    return part !== null && isOpen(part) ? part.source : hidden.repeat(part?.source.length ?? 2);
  });
  return secretPartsIn(shown.join(''));
}
