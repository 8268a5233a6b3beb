import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import {
  bringFile,
  type ImportWork,
  isKeyFile,
  isSecretText,
  joinPath,
  leaveUndecided,
  partsOf,
  type Place,
  replaceSecretParts,
  servicesOf,
  tellChange,
  variableFor,
  withoutSecrets,
} from './importWork.rules.ts';
import { type Part, isPart, partAt, removeKeys, textAt } from './model.rules.ts';

/** Brings the files of configs along; secrets, and configs that hold a key, get their content from the secretstore. */
export function replaceContents(work: ImportWork): void {
  for (const section of ['configs', 'secrets'] as const)
    for (const { name, part, owner } of partsOf(work, section)) {
      const place = { owner, key: 'file' };
      const file = textAt(part, 'file');
      const variable = textAt(part, 'environment');
      const isExternal = part['external'] === true;
      if (section === 'secrets' && variable !== '') work.register.secrets.add(variable);
      else if (section === 'secrets' && (file !== '' || isExternal)) readFromSecretstore(part, name, { work, place });
      else if (isExternal)
        leaveUndecided(work, place, ['comes from outside the project', 'make it a file of the project']);
      else if (file !== '' && !file.includes('$')) bringContent(part, name, { work, place });
    }
}

interface Context {
  work: ImportWork;
  place: Place;
}

function bringContent(part: Part, name: string, context: Context): void {
  const { work, place } = context;
  const file = textAt(part, 'file');
  const path = joinPath('.', file);
  if (/^[/~]/.test(file) || work.tree.kindOf(path) !== 'file')
    leaveUndecided(work, place, [`${printable(file)} is not a file of the project`, 'make it one']);
  else if (isKeyFile(path, work)) readFromSecretstore(part, name, context);
  else part['file'] = `./${bringFile(path, work)}`;
}

function readFromSecretstore(part: Part, name: string, { work, place }: Context): void {
  const variable = work.register.variableFor(name.toUpperCase(), 'FILE', `file of ${name}`);
  const path = textAt(part, 'file');
  if (path !== '' && !/^~|\$/.test(path)) work.secretSources.set(variable, { path, isEnvFile: false });
  removeKeys(part, ...Object.keys(part));
  part['environment'] = variable;
  tellChange(work, place, [`its content is the variable ${variable} now`, 'it is a secret, and a bundle holds none']);
}

/** Replaces secrets in `environment` by variables, and drops names that have no value here. */
export function replaceEnvironmentSecrets(work: ImportWork): void {
  for (const { part, owner } of servicesOf(work)) {
    const environment = partAt(part, 'environment');
    for (const [name, value] of Object.entries(environment)) {
      const place = { owner, key: `environment.${name}` };
      if (value === null) replaceBareName(environment, name, { work, place });
      else environment[name] = withoutSecret(name, value as string, { work, place });
    }
    if (Object.keys(environment).length === 0) removeKeys(part, 'environment');
  }
}

function withoutSecret(name: string, text: string, { work, place }: Context): string {
  if (work.register.ownNameFor(name, text)) return `\${${name}}`;
  if (!isSecretText(name, text, work)) return text;
  const replaced = withoutSecrets(name, text, { work, owner: place.owner });
  tellSecret(work, place, /^\$\{\w+\}$/.test(replaced) ? `is ${replaced} now` : 'has variables for its secrets now');
  return replaced;
}

function tellSecret(work: ImportWork, place: Place, what: string): void {
  tellChange(work, place, [what, 'its value is a secret, and a bundle holds none']);
}

/** A name without a value: a secret by its name, or left out, as compose does if its own environment has none. */
function replaceBareName(environment: Part, name: string, { work, place }: Context): void {
  if (!work.register.isSecret(name, null)) {
    removeKeys(environment, name);
    tellChange(work, place, [`${printable(name)} is left out`, 'it has no value in the project']);
  } else if (isReservedVariable(name)) {
    const reference = `\${${variableFor(name, '', { work, owner: place.owner })}}`;
    environment[name] = reference;
    tellSecret(work, place, `is ${reference} now`);
  }
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
  for (const { part, owner } of servicesOf(work))
    for (const [key, separator] of programTexts) {
      const keys = key.split('.');
      const last = keys.pop() ?? '';
      const parent = partAt(part, ...keys);
      if (last in parent) parent[last] = replaceInTexts(parent[last], separator, { work, place: { owner, key } });
    }
  for (const { part, owner } of partsOf(work, 'configs'))
    if ('content' in part)
      part['content'] = replaceInTexts(part['content'], '\n', { work, place: { owner, key: 'content' } });
}

function replaceInTexts(value: unknown, separator: string, { work, place }: Context): unknown {
  const before: string[] = [];
  mapTexts(value, (text) => {
    before.push(text);
    return text;
  });
  const { texts, variables } = replaceSecretParts(before, separator, { work, owner: place.owner });
  for (const variable of variables) tellSecret(work, place, `a part of it is \${${variable}} now`);
  return mapTexts(value, () => texts.shift() ?? '');
}

/** A value with other texts in place of its texts. */
export function mapTexts(value: unknown, textFor: (text: string) => string): unknown {
  if (typeof value === 'string') return textFor(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, textFor));
  if (!isPart(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, textFor)]));
}
