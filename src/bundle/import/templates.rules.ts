import { posix } from 'node:path';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { isBelow } from '../policy/policyHost.rules.ts';
import {
  change,
  directoryOf,
  type ImportWork,
  joinPath,
  leaveUndecided,
  type Place,
  type ProjectTree,
  unescapeDollars,
} from './importWork.rules.ts';
import { isPart, type Model, type Part } from './model.rules.ts';

/** A project in the words of compose, once for each set of values. */
export interface Renderings {
  /** With the values that the project has. */
  actual: Model;
  /** With a marker for each variable. */
  marked: Model;
  /** With a marker for each variable that has a value in the project. */
  known: Model;
  /** With paths as the project means them: relative, or absolute. */
  plain: Model;
  /** Variables by their markers. */
  markers: ReadonlyMap<string, string>;
  /** Variables in whose places compose accepts no marker. */
  unmarked: readonly string[];
  /** Values of variables in the project. */
  values: ReadonlyMap<string, string>;
  /** Variables without a value that the project demands (`${NAME:?}`). */
  demanded: ReadonlySet<string>;
  /** Variables without a value that compose takes as empty. */
  open: ReadonlySet<string>;
  /** Values of variables that each operator has, such as `PATH`, if the project uses them. */
  own: ReadonlyMap<string, string>;
  /** Absolute directory of the project. */
  root: string;
  /** The home of its operator; null if it was chosen, so that paths below it are paths of the host. */
  home: string | null;
}

/** Texts of the project that may have variables, and what they name. */
export interface ProjectTexts {
  /** Compose and env files by path. */
  texts: ReadonlyMap<string, string>;
  /** Names that follow a dollar sign, and names that env files set. */
  names: readonly string[];
  /** An example of the value of each variable that has a default. */
  defaults: ReadonlyMap<string, string>;
  /** Names with `${NAME:?}`. */
  demanded: readonly string[];
  /** Names that never have a default. */
  withoutDefault: readonly string[];
  /** The env file that sets a name, and the last that does. */
  sources: ReadonlyMap<string, string>;
}

/** Most files that are searched, and most characters of one. */
const maxFiles = 500;
const maxCharacters = 500_000;

/** Searches files for the names of variables, and what they name for more; compose alone knows what they mean. */
export function searchTexts(first: readonly string[], envFile: string, tree: ProjectTree): ProjectTexts {
  const texts = new Map<string, string>();
  const queue = [envFile, ...first];
  for (let path = queue.shift(); path !== undefined && texts.size < maxFiles; path = queue.shift()) {
    const text = texts.has(path) ? null : tree.textOf(path);
    const isEnv = text !== null && isEnvText(text);
    if (text === null || text.length > maxCharacters || !(isEnv || /\.ya?ml$/.test(path) || first.includes(path)))
      continue;
    texts.set(path, text);
    const words = new Set(
      text.replace(/^[ \t]*#.*$/gm, '').match(/[^\s"'[\]{},:;=|&<>()]*[./\w][^\s"'[\]{},:;=|&<>()]*/g) ?? [],
    );
    for (const word of words)
      for (const base of new Set([directoryOf(path), directoryOf(first[0] ?? '.'), '.']))
        if (!/^[/~]|\$/.test(word) && tree.kindOf(joinPath(base, word)) === 'file') queue.push(joinPath(base, word));
  }
  const found = (pattern: RegExp) => [...texts.values()].flatMap((text) => [...text.matchAll(pattern)]);
  const set = [...texts].flatMap(([path, text]) =>
    isEnvText(text) ? [...text.matchAll(assignment)].map(([, name = '']): [string, string] => [name, path]) : [],
  );
  const own = set.filter(([, path]) => path === envFile);
  const namesBy = (pattern: RegExp) => found(pattern).map(([, name = '']) => name);
  const used = namesBy(/(?<!\$)(?:\$\$)*\$\{?([A-Za-z_]\w*)/g);
  const optional = new Set(namesBy(/\$\{(\w+):?[-+]/g));
  return {
    texts,
    names: [...new Set([...used, ...own.map(([name]) => name)])],
    defaults: new Map(found(/\$\{(\w+):?-([^}$]+)\}/g).map(([, name = '', text = '']) => [name, text])),
    demanded: namesBy(/\$\{(\w+):?\?/g),
    withoutDefault: used.filter((name) => !optional.has(name)),
    sources: new Map([...set, ...own]),
  };
}

const assignment = /^[ \t]*(?:export[ \t]+)?(\w[\w.-]*)[ \t]*[=:]/gm;

function isEnvText(text: string): boolean {
  return text.split('\n').every((line) => /^\s*(#.*|(export\s+)?\w[\w.-]*\s*(=.*)?)?$/.test(line));
}

/** Names that compose itself, or the search for programs, uses. */
export const ownNames =
  /^(COMPOSE_\w*|DOCKER_(CONFIG|HOST|CONTEXT|CLI\w*|CERT_PATH|TLS\w*|API_VERSION|DEFAULT_PLATFORM)|PATH|HOME|PWD|XDG_\w*)$/;

/**
 * A marker for each name, which is in no text: a number, with the form of the value where this decides whether compose
 * accepts it. A number may be a port, a size, and any text.
 */
export function markersFor(
  names: readonly string[],
  valueOf: (name: string) => string,
  texts: Iterable<string>,
): Map<string, string> {
  const all = [...texts].join('\n');
  const free = Array.from({ length: 2000 }, (_, index) => (index < 1000 ? 47_000 : 53_000) + (index % 1000))
    .map(String)
    .filter((number) => !all.includes(number) && !/[45]$|47|53/.test(number.slice(1)));
  return new Map(
    names.slice(0, free.length).map((name, index) => [markerLike(valueOf(name), free[index] ?? ''), name]),
  );
}

function markerLike(value: string, number: string): string {
  if (/^\d+(\.\d+){3}$/.test(value)) return `127.${number.slice(0, 2)}.${Number(number.slice(2))}.1`;
  if (/^(\.{0,2}|~)\//.test(value)) return `/${number}`;
  return `${number}${/^\d+([a-z]{1,2})$/i.exec(value)?.[1] ?? ''}`;
}

interface Merging extends Renderings {
  work: ImportWork;
  /** Finds a marker. */
  pattern: RegExp | null;
  isSecret: (name: string) => boolean;
}

/** The model with variables in place of their values, and with paths as the project means them. */
export function templateOf(renderings: Renderings, work: ImportWork): Model {
  const { actual, marked, known, plain, markers, unmarked } = renderings;
  const found = [...markers.keys()]
    .map((marker) => marker.replaceAll('.', '\\.'))
    .toSorted((one, other) => other.length - one.length);
  const isSecret = (name: string) => work.register.secrets.has(name) || work.register.isSecret(name);
  const pattern = found.length === 0 ? null : new RegExp(found.join('|'), 'g');
  const merging = { ...renderings, work, isSecret, pattern };
  for (const name of unmarked)
    if (!isReservedVariable(name) && !isSecret(name))
      change(work, ofProject, [`${name} is written out`, 'compose takes no other kind of value in its place']);
  return merged([actual, marked, known, plain], [], merging) as Model;
}

/** Where reports name variables. */
export const ofProject: Place = { owner: 'project', key: 'variables' };

type Values = [actual: unknown, marked: unknown, known: unknown, plain: unknown];

function merged(values: Values, path: readonly string[], merging: Merging): unknown {
  const [actual, ...others] = values;
  if (Array.isArray(actual)) return mergedList(actual, others, path, merging);
  if (!isPart(actual)) return mergedLeaf(values, path, merging);
  const parts = others.map((other) => (isPart(other) ? other : actual));
  leaveEmptyKeys(actual, parts[0] ?? {}, path, merging);
  const entries = Object.entries(actual).map(([key, value]): [string, unknown] => {
    const keys = parts.map((part) => keyIn(part, key, actual, merging));
    const [marked, ...rest] = parts.map((part, index) => part[keys[index] ?? key]);
    const told: [string, string] = ['the variable in its name is written out', 'names of a bundle have no variables'];
    if (keys[0] !== key) change(merging.work, placeOf([...path, key]), told);
    const inner = [typeof value === 'object' ? (marked ?? value) : marked, ...rest.map((each) => each ?? value)];
    return [key, merged([value, ...inner] as Values, [...path, key], merging)];
  });
  return Object.fromEntries(entries);
}

/** The key of a part of another rendering that has markers in the places of variables in an actual key. */
function keyIn(part: Part, key: string, actual: Part, merging: Merging): string {
  if (key in part) return key;
  const isLike = (other: string) => {
    const texts = partsOf(other, merging).map((each) => (typeof each === 'string' ? escapeRegExp(each) : '[^]*'));
    return !(other in actual) && texts.length > 1 && new RegExp(`^${texts.join('')}$`).test(key);
  };
  return Object.keys(part).find(isLike) ?? key;
}

/** Leaves keys to decide that compose leaves out, because a variable without a value is their value. */
function leaveEmptyKeys(actual: Part, marked: Part, path: readonly string[], merging: Merging): void {
  for (const [key, value] of Object.entries(marked)) {
    const names = key in actual ? [] : namesIn(value, merging);
    const lacking = names.find((name) => merging.open.has(name));
    if (lacking !== undefined)
      leaveUndecided(merging.work, placeOf([...path, key]), [`${lacking} has no value`, `--variable ${lacking}=VALUE`]);
  }
}

/** A variable may decide how many items a list has, such as the words of a command; then they are written out. */
function mergedList(
  actual: readonly unknown[],
  others: unknown[],
  path: readonly string[],
  merging: Merging,
): unknown[] {
  const [marked] = others;
  const lists = others.map((other) => (Array.isArray(other) && other.length === actual.length ? other : actual));
  const isAlike = !Array.isArray(marked) || marked.length === actual.length;
  const isWords = ([name, value]: [string, string]) =>
    /\s/.test(value) && merging.isSecret(name) && actual.join(' ').includes(escapeDollars(value));
  const [secret] = isAlike ? [] : ([...merging.values].find(isWords) ?? []);
  if (secret !== undefined) {
    const told: [string, string] = [`\${${secret}} is several words`, 'write each word as an item of a list'];
    leaveUndecided(merging.work, placeOf(path), told);
    return (marked as unknown[]).map((item) => partsOf(item, merging).map(reference).join(''));
  }
  if (!isAlike) tellWrittenOut(merging, placeOf(path));
  return actual.map((item, index) =>
    merged([item, ...lists.map((list): unknown => list[index])] as Values, path, merging),
  );
}

function tellWrittenOut({ work }: Merging, place: Place): void {
  change(work, place, ['a variable in it is written out', 'its value decides more than the text']);
}

function mergedLeaf([actual, marked, known, plain]: Values, path: readonly string[], merging: Merging): unknown {
  const { work, open, demanded } = merging;
  const literal = isPathAt(path) && typeof actual === 'string' ? pathOf(actual, plain, merging) : actual;
  const names = namesIn(marked, merging);
  const place = placeOf(path);
  if (!isLiteralAt(path)) {
    const text = names.length === 0 ? null : writtenText([actual, marked, known], merging, place);
    if (text !== null) return withOwnNames(text, merging);
    const isDecided = String(marked) !== String(actual);
    if (isDecided) tellWrittenOut(merging, place);
    const all = isDecided ? [...merging.values.keys()] : merging.unmarked;
    return isPathAt(path) ? literal : withoutSecretValues(withOwnNames(literal, merging), all, merging);
  }
  const shown = printable(names.map((name) => `\${${name}}`).join(''));
  const lacking = names.find((name) => merging.isSecret(name) || open.has(name) || demanded.has(name));
  if (lacking !== undefined)
    leaveUndecided(work, place, [`${shown} has no value that may be written out`, `--variable ${lacking}=VALUE`]);
  else if (names.length > 0)
    change(work, place, [
      `${shown} is written out as ${printable(String(literal))}`,
      'a variable must not decide a name, a path or a privilege over the host',
    ]);
  return lacking === undefined ? literal : partsOf(marked, merging).map(reference).join('');
}

function namesIn(marked: unknown, merging: Merging): string[] {
  return partsOf(marked, merging).flatMap((part) => (typeof part === 'string' ? [] : part.name));
}

type TextPart = string | { name: string };

function reference(part: TextPart): string {
  return typeof part === 'string' ? part : `\${${part.name}}`;
}

/** A text in parts: text, and variables in the places of their markers. */
function partsOf(marked: unknown, { pattern, markers }: Merging): TextPart[] {
  if (typeof marked === 'object' || marked === undefined || pattern === null) return [];
  const parts: TextPart[] = [];
  const text = typeof marked === 'string' ? marked : JSON.stringify(marked);
  let at = 0;
  for (const { 0: marker, index } of text.matchAll(pattern)) {
    parts.push(text.slice(at, index), { name: markers.get(marker) ?? '' });
    at = index + marker.length;
  }
  return [...parts, text.slice(at)];
}

/**
 * The text of a leaf with its variables. A variable without a value has the default that the text with the known values
 * shows. Null if this would not be the actual text.
 */
function writtenText([actual, marked, known]: readonly unknown[], merging: Merging, place: Place): string | null {
  const { values, demanded, open } = merging;
  const isSet = (name: string) => (values.get(name) ?? '') !== '';
  const parts = partsOf(marked, merging);
  const source = parts.map((part) =>
    typeof part === 'string' || isSet(part.name) ? escapeRegExp(reference(part)) : '([^]*?)',
  );
  const groups = new RegExp(`^${source.join('')}$`).exec(partsOf(known, merging).map(reference).join(''))?.slice(1);
  if (groups === undefined) return null;
  const value = (text: string) =>
    text.replace(/(?<!\$)\$\{(\w+)\}/g, (_, name: string) => escapeDollars(values.get(name) ?? ''));
  const pieces = parts.map((part): [written: string, value: string] => {
    if (typeof part === 'string') return [part, part];
    const { name } = part;
    if (isSet(name)) return [supplied(name, value(`\${${name}}`), merging, place), value(`\${${name}}`)];
    const text = groups.shift() ?? '';
    if (demanded.has(name)) return [merging.isSecret(name) ? `\${${name}}` : `\${${name}:?}`, text];
    if (isReservedVariable(name)) return [text && supplied(name, text, merging, place), value(text)];
    return [open.has(name) && text === '' ? `\${${name}}` : withDefault(name, text, merging), value(text)];
  });
  const isReadable = pieces.every(
    ([written]) =>
      !/[{}\n]/.test(written.replace(/^\$\{|\}$/g, '').replace(/\$\{\w+\}/g, '')) || !written.startsWith('${'),
  );
  return isReadable && pieces.map(([, text]) => text).join('') === String(actual)
    ? pieces.map(([written]) => written).join('')
    : null;
}

/** A variable with its default; a secret loses a default that the project's files contain. */
function withDefault(name: string, text: string, { work, values, isSecret }: Merging): string {
  const isWritten = text !== '' && !/(?<!\$)\$\{/.test(text);
  if (!isSecret(name) || !(isWritten || values.has(name))) return `\${${name}:-${text}}`;
  const why = 'its value is a secret, and a bundle holds none';
  if (isWritten) change(work, ofProject, [`\${${name}} has no default now`, why]);
  return `\${${name}}`;
}

/** A variable in a text; one with a reserved name is written out, or has another name if it is a secret. */
function supplied(name: string, value: string, merging: Merging, place: Place): string {
  const { work, isSecret } = merging;
  if (!isReservedVariable(name)) return `\${${name}}`;
  const other = isSecret(name) ? secretReference(name, unescapeDollars(value), merging) : value;
  const what = isSecret(name) ? `is ${other} now` : `is written out as ${printable(other)}`;
  change(work, place, [`\${${name}} ${what}`, `${name} is reserved`]);
  return other;
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function escapeDollars(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** A text that a variable decides in another way, without the values of secrets. */
function withoutSecretValues(actual: unknown, names: readonly string[], merging: Merging): unknown {
  if (typeof actual !== 'string') return actual;
  return names.reduce((text, name) => {
    const value = merging.values.get(name) ?? '';
    if (value.length < shortestSecret || !merging.isSecret(name)) return text;
    return text.replaceAll(escapeDollars(value), () => secretReference(name, value, merging));
  }, actual);
}

function secretReference(name: string, value: string, { work }: Merging): string {
  const other = isReservedVariable(name)
    ? work.register.variableFor(name, work.choices.name.toUpperCase(), value)
    : name;
  return `\${${other}}`;
}

const shortestSecret = 6;

/** A text with the variables of values that are the operator's own. */
function withOwnNames(actual: unknown, { own }: Merging): unknown {
  if (typeof actual !== 'string') return actual;
  return [...own].reduce((text, [name, value]) => text.replaceAll(value, () => `\${${name}}`), actual);
}

function placeOf([section = '', name = '', ...keys]: readonly string[]): Place {
  return { owner: `${section.slice(0, -1)} ${name}`, key: keys.join('.') };
}

const paths =
  /^(services\.[^/]+\.(volumes\.source|build\.context)|(configs|secrets)\.[^/]+\.file|volumes\.[^/]+\.driver_opts\.device)$/;

function isPathAt(path: readonly string[]): boolean {
  return paths.test(path.map((key) => key.replaceAll('/', '')).join('.'));
}

/** An absolute path as the project means it: relative to its directory, in a home, or on the host. */
function pathOf(path: string, plain: unknown, { root, home }: Merging): string {
  if (!path.startsWith('/')) return path;
  const relative = posix.relative(root, path);
  if (relative === '') return '.';
  if (isBelow(path, root)) return `./${relative}`;
  if (home !== null && (path === home || isBelow(path, home))) return `~${path.slice(home.length)}`;
  return typeof plain !== 'string' || /^[/~]/.test(plain) ? path : relative;
}

const literalKeys = (
  'cap_add cgroup cgroup_parent configs depends_on devices device_cgroup_rules external_links gpus group_add ipc ' +
  'links logging.driver network_mode networks oom_kill_disable oom_score_adj pid privileged profiles runtime ' +
  'secrets security_opt tmpfs user userns_mode uts volumes volumes_from deploy.resources.reservations.devices'
).split(' ');

/** Whether a bundle must not have a variable in a place, because it would decide a name, a path or a privilege. */
function isLiteralAt([section = '', , ...keys]: readonly string[]): boolean {
  if (section !== 'services') return /^(name|external|driver|driver_opts|ipam|file|environment)$/.test(keys[0] ?? '');
  return literalKeys.some((key) => `${keys.join('.')}.`.startsWith(`${key}.`));
}
