import { posix } from 'node:path';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { holdsSecret, isNoSecretValue, isSecretName, isSecretValue } from './secretSigns.rules.ts';
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
  readonly effects: AppliedEffect[];
  /** Files that come along: project paths by bundle paths. */
  readonly copies: Map<string, string>;
  /** Bundle paths by project paths, of files and directories. */
  readonly paths: Map<string, string>;
  /** Names of the volumes that take the place of directories, by project path. */
  readonly volumes: Map<string, string>;
  /** Where the values of secrets are, by variable. */
  readonly secretSources: Map<string, SecretSource>;
}

/** A service or another part of the project, with its name in reports, such as `service web`. */
export interface NamedPart {
  name: string;
  owner: string;
  part: Part;
}

/** The parts of a section; by default the services. */
export function partsOf({ model }: Pick<ImportWork, 'model'>, section: keyof Model = 'services'): NamedPart[] {
  const kind = section.slice(0, -1);
  return Object.entries(model[section]).map(([name, part]) => ({ name, owner: `${kind} ${name}`, part }));
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

/** Changes the part of a model that a report names. */
export type Effect = (part: Part, model: Model) => void;

/** An effect that an import had, with its row of the report, to be applied to the model that compose makes of the project. */
export interface AppliedEffect extends Reported {
  effect: Effect;
}

/** Reports a change, and makes it; without an effect, compose does not see the change. */
export function change(work: ImportWork, place: Place, [what, why]: [string, string], effect?: Effect): void {
  addOnce(work.report.changes, { ...place, what: masked(what), why });
  if (effect === undefined) return;
  work.effects.push({ ...place, what, effect });
  applyEffect(work.model, { ...place, effect });
}

/** Applies an effect of an import to a model. */
export function applyEffect(model: Model, { owner, effect }: Pick<AppliedEffect, 'owner' | 'effect'>): void {
  const [kind = '', name = ''] = owner.split(' ');
  const part = model[`${kind}s` as keyof Model][name];
  if (part !== undefined) effect(part, model);
}

/** Reports an open decision. */
export function leaveUndecided({ report }: ImportWork, place: Place, [what, cure]: [string, string]): void {
  addOnce(report.undecided, { ...place, what: masked(what), cure });
}

/** A text of a project's file without the passwords that URLs and mount options may hold. */
export function masked(text: string): string {
  return text
    .replace(/(:\/\/[^\s/@:]*:)[^\s/@]*@/g, '$1…@')
    .replace(/\b(\w*pass\w*|\w*secret|token)=[^\s,;&]+/gi, '$1=…');
}

/** Something that a report names; with its place, such as `service web`, `volume data`, `project`. */
export interface Reported extends Place {
  what: string;
}

/** The changes of an import, and its open decisions; it never contains the value of a secret. */
export interface ImportReport {
  /** Changes against the project, with their reasons. */
  changes: (Reported & { why: string })[];
  /** Decisions that only the operator can make, with their options. */
  undecided: (Reported & { cure: string })[];
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
  /** The chosen profiles, what chooses them, and why compose reads no others, if it reads only these. */
  profiles: { names: readonly string[]; by: string; unread?: string };
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

type VariableRegister = ReturnType<typeof createVariableRegister>;

/** The variables of a project, which of them are secrets, and the secrets that its files contain. */
export function createVariableRegister(values: ReadonlyMap<string, string>, choices: ImportChoices) {
  const found = new Map<string, string | null>(values);
  /** Variables that are secrets, in the order in which they were found. */
  const secrets = new Set<string>();
  /** Whether the value of a variable is a secret; null when it has no value. */
  const isSecret = (name: string, value: string | null = values.get(name) ?? null) => {
    if (choices.secrets.has(name) || choices.variables.has(name)) return choices.secrets.has(name);
    const isSwitch = value !== null && value !== '' && isNoSecretValue(value);
    return (isSecretName(name) && !isSwitch) || isSecretValue(value ?? '');
  };
  /** The variable for a secret of a file: the same for the same value, else one named after its owner too. */
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
  /** Keeps names that the project uses, so that no secret of a file takes one. */
  const takeNames = (names: readonly string[]) => {
    for (const name of names) if (!found.has(name)) found.set(name, null);
  };
  /** The value of a variable, also of a secret of a file; null if it has none. */
  const valueOf = (name: string) => found.get(name) ?? null;
  /** `values` has the values of the project and of the operator's choices. */
  return { values, isSecret, variableFor, takeNames, secrets, valueOf };
}

const maxNameLength = 200;

/** A name that a variable may have. */
function variableName(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, maxNameLength);
  return /^\d/.test(plain) ? `_${plain.slice(1)}` : plain;
}

/** The content of a text without variables: `$$` is a dollar sign. */
export function unescapeDollars(text: string): string {
  return text.replaceAll('$$', '$');
}

/** A name that is not taken: unchanged, or with a number. */
export function freeName(plain: string, taken: readonly string[]): string {
  let name = plain;
  for (let count = 2; taken.includes(name); count++) name = `${plain}-${count}`;
  return name;
}

/**
 * Brings a file, or files of a directory, along; its path in the bundle: its own one, otherwise below `parent/` or with a
 * number.
 */
export function bring(path: string, { paths, copies }: ImportWork, files: readonly Pick<TreeFile, 'path'>[]): string {
  const plain = path === '.' ? 'project' : path.replace(/^(\.\.\/)+/, 'parent/');
  const into = paths.get(path) ?? freeName(plain, ['manifest.json', ...paths.values()]);
  paths.set(path, into);
  for (const file of files) copies.set(joinPath(into, file.path), joinPath(path, file.path));
  return into;
}

/** Brings a file along; its path in the bundle. */
export function bringFile(path: string, work: ImportWork): string {
  return bring(path, work, [{ path: '' }]);
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

/** A path that is written relative to `base`, relative to the project's directory; `.` for the directory itself. */
export function joinPath(base: string, path: string): string {
  return posix.join(base, path).replace(/(?<=.)\/$/, '');
}

/** The directory of a path; `.` for the project's own. */
export function directoryOf(path: string): string {
  return joinPath(path, '..');
}
