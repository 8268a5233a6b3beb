import { isReservedVariable } from '../../api/manifest.rules.ts';
import { textParts, type TextVariable } from '../compose/variables.rules.ts';
import {
  hidden,
  holdsSecret,
  isNoSecretValue,
  isSecretName,
  isSecretValue,
  type SecretPart,
  secretPartsIn,
} from './secretSigns.rules.ts';
import type { Model, Part } from './model.rules.ts';

/** An import at work: its steps change the model of the project, and say so in the report. */
export interface ImportWork {
  readonly tree: ProjectTree;
  readonly choices: ImportChoices;
  /** The project as compose reads it, with variables in its texts, and paths as the project means them. */
  readonly model: Model;
  /** Texts of the project's compose and env files. */
  readonly texts: ReadonlyMap<string, string>;
  readonly register: VariableRegister;
  readonly report: ImportReport;
  /** Files that come along: project paths by bundle paths. */
  readonly copies: Map<string, string>;
  /** Bundle paths by project paths, of files and directories. */
  readonly paths: Map<string, string>;
  /** Names of the volumes that take the place of directories, by project path. */
  readonly volumes: Map<string, string>;
  /** Where the values of secrets are, by variable. */
  readonly secretSources: Map<string, SecretSource>;
}

/** A service of the project, with its name in reports. */
export interface Service {
  name: string;
  owner: string;
  part: Part;
}

/** The services of the project. */
export function servicesOf({ model }: Pick<ImportWork, 'model'>): Service[] {
  return Object.entries(model.services).map(([name, part]) => ({ name, owner: `service ${name}`, part }));
}

/** The parts of a section, with how reports name them. */
export function partsOf({ model }: Pick<ImportWork, 'model'>, section: keyof Model): Service[] {
  return Object.entries(model[section]).map(([name, part]) => ({
    name,
    owner: `${section.slice(0, -1)} ${name}`,
    part,
  }));
}

/** A file that has the value of a secret: under the name of its variable in an env file, or as its content. */
export interface SecretSource {
  /** Relative to the project's directory. */
  path: string;
  isEnvFile: boolean;
}

/** Where in the project something is. */
export interface Place {
  owner: string;
  key: string;
}

/** Reports a change. */
export function tellChange({ report }: Pick<ImportWork, 'report'>, place: Place, [what, why]: [string, string]): void {
  addOnce(report.changes, { ...place, what: masked(what), why });
}

/** Reports an open decision. */
export function leaveUndecided(
  { report }: Pick<ImportWork, 'report'>,
  place: Place,
  [what, cure]: [string, string],
): void {
  addOnce(report.undecided, { ...place, what: masked(what), cure });
}

/** A text of a project's file without the passwords that URLs and mount options may hold. */
export function masked(text: string): string {
  return text
    .replace(/(:\/\/[^\s/@:]*:)[^\s/@]*@/g, '$1…@')
    .replace(/\b(\w*pass\w*|\w*secret|token)=[^\s,;&]+/gi, '$1=…');
}

/** Something that the bundle says in another way than the project: where, what, and why. */
export interface ImportChange {
  /** `service web`, `volume data`, `file compose.yaml`. */
  owner: string;
  key: string;
  what: string;
  why: string;
}

/** A decision that only the operator can make, with its options. */
interface Undecided {
  owner: string;
  key: string;
  what: string;
  cure: string;
}

/** The changes of an import, and its open decisions; it never contains the value of a secret. */
export interface ImportReport {
  changes: ImportChange[];
  undecided: Undecided[];
  /** Profiles of services that the bundle does not choose. */
  inactive_profiles: string[];
  /** Volumes and networks of the running project, with their names in the bundle's project. */
  renamed: Renamed[];
}

/** A volume, network or directory of the running project, and its name in the bundle's project. */
export interface Renamed {
  kind: 'volume' | 'network' | 'directory';
  from: string;
  to: string;
}

/** The decisions of the operator: names with values are variables, the others say how a name is used. */
export interface ImportChoices {
  name: string;
  env: string;
  /** The name that compose gives the running project. */
  projectName: string;
  /** Whether the bundle uses the volumes of the running project. */
  keepVolumes: boolean;
  /** The file with the values of the project's variables. */
  envFile: string;
  /** The chosen profiles, and what chooses them. */
  profiles: { names: readonly string[]; by: string };
  /** Images of services, in place of `image` and `build`. */
  images: ReadonlyMap<string, string>;
  /** Images of services with their current digest, or why a registry does not return it. */
  pins?: ReadonlyMap<string, { reference: string } | { fault: string }>;
  /** Names that are secrets, whatever they look like. */
  secrets: ReadonlySet<string>;
  /** Names that are not secrets; null leaves the value that the project has. */
  variables: ReadonlyMap<string, string | null>;
}

/** Adds an entry, unless the same entry exists. */
function addOnce<Entry extends object>(entries: Entry[], entry: Entry): void {
  const text = JSON.stringify(entry);
  if (!entries.some((one) => JSON.stringify(one) === text)) entries.push(entry);
}

/** The variables of a project: their values, which are secrets, and the secrets that stood in its files. */
interface VariableRegister {
  /** Values of `.env` and of the operator's choices. */
  readonly values: ReadonlyMap<string, string>;
  /** Whether the value of a variable is a secret; null when it has no value. */
  isSecret: (name: string, value: string | null) => boolean;
  /** The value of a variable that a bundle may contain; null if it has none or is a secret. */
  openValueOf: (name: string) => string | null;
  /** The variable for a secret that stood in a file: the same for the same value, else one named after its owner too. */
  variableFor: (name: string, owner: string, value: string) => string;
  /** Keeps names that the project uses, so that no secret of a file takes one. */
  takeNames: (names: readonly string[]) => void;
  /** Variables that are secrets, in the order in which they were found. */
  readonly secrets: Set<string>;
  /** The value of a variable, also of a secret; null if the project has none. */
  valueOf: (name: string) => string | null;
  /** Whether a text is the value that the project gives to the variable with the name of the text. */
  ownNameFor: (name: string, text: string) => boolean;
}

/** Begins with the values of `.env` and of the operator's choices. */
export function createVariableRegister(values: ReadonlyMap<string, string>, choices: ImportChoices): VariableRegister {
  const found = new Map<string, string | null>(values);
  const secrets = new Set<string>();
  const isSecret = (name: string, value: string | null) => {
    if (choices.secrets.has(name) || choices.variables.has(name)) return choices.secrets.has(name);
    const isSwitch = value !== null && value !== '' && isNoSecretValue(value);
    return (isSecretName(name) && !isSwitch) || isSecretValue(value ?? '');
  };
  const variableFor = (name: string, owner: string, value: string) => {
    const plain = variableName(name);
    const same = [...secrets].find((one) => one.endsWith(`_${plain}`) && found.get(one) === value);
    if (same !== undefined) return same;
    const owned = variableName(`${owner}_${plain}`);
    for (let count = 0; ; count++) {
      const candidate = [plain, owned][count] ?? `${owned.slice(0, maxNameLength - 10)}_${count}`;
      const other = found.get(candidate);
      if (isReservedVariable(candidate) || (other !== undefined && other !== value)) continue;
      found.set(candidate, value);
      secrets.add(candidate);
      return candidate;
    }
  };
  const openValueOf = (name: string) => {
    const value = values.get(name) ?? null;
    return value === null || isSecret(name, value) ? null : value;
  };
  const takeNames = (names: readonly string[]) => {
    for (const name of names) if (!found.has(name)) found.set(name, null);
  };
  const valueOf = (name: string) => found.get(name) ?? null;
  const ownNameFor = (name: string, text: string) =>
    text !== '' && !isReservedVariable(name) && values.get(name) === unescapeDollars(text);
  return { values, isSecret, openValueOf, variableFor, takeNames, secrets, valueOf, ownNameFor };
}

const maxNameLength = 200;

/** A name that a variable may have. */
function variableName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, maxNameLength);
  return /^\d/.test(plain) ? `_${plain.slice(1)}` : plain;
}

/** Whether a text of a file is or contains a secret. */
export function isSecretText(name: string, text: string, { register }: ImportWork): boolean {
  if (text === '') return false;
  return isLiteral(text) ? register.isSecret(name, unescapeDollars(text)) : secretPartsOf(text, register).length > 0;
}

function isLiteral(text: string): boolean {
  return textParts(text).every((part) => typeof part === 'string');
}

/** The text with variables for its secrets: one for the whole text, unless it has variables itself. */
export function withoutSecrets(
  name: string,
  text: string,
  { work, owner }: { work: ImportWork; owner: string },
): string {
  if (!isSecretText(name, text, work)) return text;
  if (!isLiteral(text)) return replaceSecretParts([text], ' ', { work, owner }).texts.join('');
  return `\${${variableFor(name, text, { work, owner })}}`;
}

/** The variable for a secret of a file. */
export function variableFor(name: string, text: string, { work, owner }: { work: ImportWork; owner: string }): string {
  const service = owner.replace(/^\w+ ([^,]*).*$/, '$1').toUpperCase();
  return work.register.variableFor(name, service, unescapeDollars(text));
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

/**
 * Texts that belong together, such as the words of a command, with variables for the parts that are secrets. A word after
 * its option is a secret as a whole. `--variable NAME` denies a part with this name.
 */
export function replaceSecretParts(
  texts: readonly string[],
  separator: string,
  { work, owner }: { work: ImportWork; owner: string },
): { texts: string[]; variables: string[] } {
  const parts = secretPartsOf(texts.join(separator), work.register).filter(
    ({ name }) => !work.choices.variables.has(name),
  );
  const variables: string[] = [];
  let at = 0;
  const replaced = texts.map((text) => {
    const [from, to] = [at, at + text.length];
    at = to + separator.length;
    const own = parts.filter(({ start, end }) => start >= from && end <= to);
    return own.toReversed().reduce((changed, { start, end, name }) => {
      const isWord = separator === ' ' && from > 0 && start === from && isLiteral(text);
      const last = isWord ? text.length : end - from;
      const variable = variableFor(name, text.slice(start - from, last), { work, owner });
      variables.unshift(variable);
      return `${changed.slice(0, start - from)}\${${variable}}${changed.slice(last)}`;
    }, text);
  });
  return { texts: replaced, variables };
}

/** The content of a text without variables: `$$` is a dollar sign. */
export function unescapeDollars(text: string): string {
  return text.replaceAll('$$', '$');
}

/** The place of a file or directory of the project in the bundle: its own path, otherwise below `parent/` or with a number. */
export function bundlePathOf(path: string, { paths }: Pick<ImportWork, 'paths'>): string {
  const known = paths.get(path);
  if (known !== undefined) return known;
  const plain = path === '.' ? 'project' : path.replace(/^(\.\.\/)+/, 'parent/');
  const taken = new Set(['manifest.json', ...paths.values()]);
  let candidate = plain;
  for (let count = 2; taken.has(candidate); count++) candidate = `${plain}-${count}`;
  paths.set(path, candidate);
  return candidate;
}

/** Brings a file along; its path in the bundle. */
export function bringFile(path: string, work: ImportWork): string {
  const into = bundlePathOf(path, work);
  work.copies.set(into, path);
  return into;
}

/** Brings files of a directory along; its path in the bundle. */
export function bringDirectory(path: string, files: readonly TreeFile[], work: ImportWork): string {
  const into = bundlePathOf(path, work);
  for (const file of files) work.copies.set(`${into}/${file.path}`, joinPath(path, file.path));
  return into;
}

/** Whether a file is a `.env` or holds a secret, so that it is not part of a bundle, unless `--variable FILE` denies it. */
export function isKeyFile(path: string, { tree, choices }: Pick<ImportWork, 'tree' | 'choices'>): boolean {
  if (choices.variables.has(path)) return false;
  return /(^|\/)\.env$/.test(path) || holdsSecret(path, tree.textOf(path) ?? '');
}

/** The file at a path of a project; `foreign` is a link that leads out of the project, `special` a device or the like. */
export type PathKind = 'file' | 'directory' | 'foreign' | 'special';

/** The files below a directory that are not directories. */
export interface TreeFile {
  /** Relative to that directory. */
  path: string;
  kind: Exclude<PathKind, 'directory'>;
  /** Bytes. */
  size: number;
}

/** The files of a compose project. Paths are relative to its directory, and may begin with `../`. */
export interface ProjectTree {
  /** Null when there is nothing. */
  kindOf: (path: string) => PathKind | null;
  /** The text of a file; null for anything else, and for a file that is too long for a text. */
  textOf: (path: string) => string | null;
  /** The files below a directory, but for those that are left behind; null when there are too many. */
  filesBelow: (path: string) => TreeFile[] | null;
}

/** A relative path without `.` and empty parts, with all `..` at its beginning; `.` for the directory itself. */
export function normalizeRelative(path: string): string {
  const kept: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else kept.push(part);
  }
  return kept.join('/') || '.';
}

/** A path that is written relative to `base`, relative to the project's directory. */
export function joinPath(base: string, path: string): string {
  return normalizeRelative(`${base}/${path}`);
}

/** The directory of a path; `.` for the project's own. */
export function directoryOf(path: string): string {
  return normalizeRelative(`${path}/..`);
}
