import { isMap, isScalar, isSeq, type Scalar, visit } from 'yaml';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import {
  type EnvAssignment,
  parseEnvAssignments,
  textParts,
  type TextVariable,
  variablesOf,
} from '../compose/variables.rules.ts';
import { type ImportWork, leaveUndecided, type Place, tellChange, unescapeDollars } from './importWork.rules.ts';
import { type ProjectDocument, serviceNodes, servicePartsOf } from './projectDocument.rules.ts';
import {
  entriesAt,
  itemsAt,
  layersOf,
  type MapNode,
  resolve,
  scalarAt,
  setText,
  textAt,
  valueAt,
} from './yamlNodes.rules.ts';

/** The variables that the bundle's manifest names. */
export interface SuppliedVariables {
  /** Names of secrets. */
  secrets: string[];
  /** Values of the others. */
  variables: Map<string, string>;
}

const ofProject = { owner: 'project', key: 'variables' };

/**
 * Decides each variable that the documents and env files still use: a secret, a variable of the manifest, or left open. A
 * secret loses its default; a reserved variable is written out, or has another name if it is a secret.
 */
export function supplyVariables(work: ImportWork): SuppliedVariables {
  for (const scalar of work.documents.flatMap(valueScalars)) {
    const text = rewriteVariables(scalar.value, (variable) => rewritten(variable, work));
    if (text !== null && text !== scalar.value) setText(scalar, text);
  }
  const texts = [...work.documents.flatMap(valueScalars).map(({ value }) => value), ...envTemplates(work)];
  const uses = texts.flatMap((text) => variablesOf(text).uses);
  const bare = bareNamesOf(work.documents);
  const required = new Set([...uses.filter((use) => use.required).map(({ name }) => name), ...bare]);
  const supplied: SuppliedVariables = { secrets: [], variables: new Map() };
  for (const name of new Set([...uses.map((use) => use.name), ...bare]))
    supply(name, required.has(name), { work, supplied });
  return supplied;
}

function supply(
  name: string,
  isRequired: boolean,
  { work, supplied }: { work: ImportWork; supplied: SuppliedVariables },
): void {
  const { register } = work;
  const value = register.values.get(name) ?? null;
  if (isReservedVariable(name)) {
    const cure = `write its value into the compose file, or --variable ${name}=VALUE`;
    leaveUndecided(work, ofProject, [`${printable(name)} is reserved`, cure]);
    return;
  }
  if (register.secrets.has(name) || register.isSecret(name, value)) {
    if (isRequired || value !== null || register.secrets.has(name)) supplied.secrets.push(name);
  } else if (value !== null) supplied.variables.set(name, value);
  else if (isRequired) leaveOpen(name, { work, supplied });
}

/** A variable without a value: empty, as compose takes it, unless the project demands one (`${NAME:?}`). */
function leaveOpen(name: string, { work, supplied }: { work: ImportWork; supplied: SuppliedVariables }): void {
  const isDemanded = work.documents.flatMap(valueScalars).some(({ value }) => demands(value, name));
  if (!isDemanded) supplied.variables.set(name, '');
  const what = isDemanded ? 'has no value' : 'has no value, so it is empty, as compose takes it';
  leaveUndecided(work, ofProject, [`${printable(name)} ${what}`, `--variable ${name}=VALUE or --secret ${name}`]);
}

function demands(text: string, name: string): boolean {
  return text.includes(`\${${name}?`) || text.includes(`\${${name}:?`);
}

function rewritten(variable: TextVariable, work: ImportWork): string {
  const { name, operator, inner, source } = variable;
  const { register } = work;
  const value = register.values.get(name) ?? null;
  const isSecret = register.secrets.has(name) || register.isSecret(name, value);
  const isEmpty = value === null && operator.endsWith('-') && inner === '';
  if (isReservedVariable(name)) {
    if (isSecret && !isEmpty) return rewritten({ ...variable, ...renamed(variable, work) }, work);
    return writtenOut(variable, work) ?? source;
  }
  if (operator === '') return source;
  const isLiteral = inner !== '' && textParts(inner).every((part) => typeof part === 'string');
  if (isSecret && operator.endsWith('-') && (isLiteral || value !== null)) {
    if (isLiteral)
      tellChange(work, ofProject, [`\${${name}} has no default now`, 'its value is a secret, and a bundle holds none']);
    return `\${${name}}`;
  }
  return `\${${name}${operator}${rewriteVariables(inner, (one) => rewritten(one, work)) ?? inner}}`;
}

/** A reserved variable that is a secret, under a name that it may have. */
function renamed({ name, source }: TextVariable, work: ImportWork): Pick<TextVariable, 'name' | 'source'> {
  const { register, choices } = work;
  const other = register.variableFor(name, choices.name.toUpperCase(), register.values.get(name) ?? '');
  tellChange(work, ofProject, [`${printable(source)} is \${${other}} now`, `${printable(name)} is reserved`]);
  return { name: other, source: `\${${other}}` };
}

/** The value of a reserved variable; a secret is not one. */
function writtenOut(variable: TextVariable, work: ImportWork): string | null {
  const text = resolveVariable(variable, work.register.openValueOf)?.replaceAll('$', '$$$$') ?? null;
  if (text !== null)
    tellChange(work, ofProject, [
      `${printable(variable.source)} is written out as ${printable(text)}`,
      'it is reserved',
    ]);
  return text;
}

/** Texts of the env files that come along. */
function envTemplates({ tree, envFiles }: ImportWork): string[] {
  return [...envFiles].flatMap((path) =>
    readEnvFile(tree.textOf(path) ?? '').assignments.map(({ template }) => template),
  );
}

/** The scalars of a document that are not keys: the texts in which compose replaces variables. */
export function valueScalars({ document }: ProjectDocument): Scalar<string>[] {
  const scalars: Scalar<string>[] = [];
  visit(document, {
    Scalar: (key, node) => {
      if (key !== 'key' && typeof node.value === 'string') scalars.push(node as Scalar<string>);
    },
  });
  return scalars;
}

/** Names of the variables in the texts of documents. */
export function variableNamesOf(documents: readonly ProjectDocument[]): string[] {
  const texts = documents.flatMap(valueScalars).map(({ value }) => value);
  return [...new Set(texts.flatMap((text) => variablesOf(text).uses.map(({ name }) => name)))];
}

/** Names that stand without `$`: in `environment` without a value, and as the `environment` of a config or secret. */
export function bareNamesOf(documents: readonly ProjectDocument[]): string[] {
  const environments = servicePartsOf(documents).flatMap(({ map, document }) => {
    const environment = resolve(valueAt(map, document, 'environment'), document);
    if (isSeq(environment)) return itemsAt(environment, document).flatMap((item) => bareItem(textAt(item, document)));
    if (!isMap(environment)) return [];
    const layers = layersOf(environment as MapNode, document).toReversed();
    const values = new Map(layers.flatMap((layer) => layer.items.map(({ key, value }) => [key.value, value] as const)));
    return [...values]
      .filter(([name, value]) => name !== '<<' && scalarAt(value, document) === null && !isCollection(value, document))
      .map(([name]) => name);
  });
  const contents = documents.flatMap((document) =>
    ['configs', 'secrets'].flatMap((section) =>
      entriesAt(valueAt(document.root, document, section), document).flatMap(
        ([, part]) => textAt(valueAt(part, document, 'environment'), document) ?? [],
      ),
    ),
  );
  return [...new Set([...environments, ...contents])];
}

function bareItem(text: string | null): string[] {
  return text === null || text === '' || text.includes('=') || text.includes('$') ? [] : [text];
}

function isCollection(value: unknown, document: ProjectDocument): boolean {
  const found = resolve(value, document);
  return found !== null && !isScalar(found);
}

/** The value of a variable: null when it is not set. */
type ValueOf = (name: string) => string | null;

/**
 * A text with its variables replaced as compose does, `$$` kept. A needed variable without a value, and what compose
 * cannot read, make it null.
 */
export function interpolate(text: string, valueOf: ValueOf): string | null {
  return rewriteVariables(text, (variable) => {
    const value = resolveVariable(variable, valueOf);
    return value?.replaceAll('$', '$$$$') ?? null;
  });
}

/** The value of a variable with its default or alternative; null if there is none. */
export function resolveVariable({ name, operator, inner }: TextVariable, valueOf: ValueOf): string | null {
  const value = valueOf(name);
  const isSet = value !== null && (value !== '' || !operator.startsWith(':'));
  if (operator.endsWith('+')) return isSet ? literalOf(inner, valueOf) : '';
  if (isSet) return value;
  return operator.endsWith('-') ? literalOf(inner, valueOf) : null;
}

/** A text with each variable replaced by another text; null from `rewrite`, and what compose cannot read, make it null. */
export function rewriteVariables(text: string, rewrite: (variable: TextVariable) => string | null): string | null {
  if (!text.includes('$')) return text;
  const parts = textParts(text).map((part) => (part === null || typeof part === 'string' ? part : rewrite(part)));
  return parts.includes(null) ? null : parts.join('');
}

function literalOf(text: string, valueOf: ValueOf): string | null {
  const found = interpolate(text, valueOf);
  return found === null ? null : unescapeDollars(found);
}

/** An env file as far as it can be read. */
interface EnvFile {
  assignments: EnvAssignment[];
  /** Lines that are not assignments; they may contain the value of a secret. */
  unread: number;
}

/** Lines that cannot be read, behind which nothing is. */
const maxUnread = 100;

/** Reads an env file line by line; lines that are not `NAME=VALUE` are counted. */
export function readEnvFile(text: string): EnvFile {
  const read: EnvFile = { assignments: [], unread: 0 };
  for (let left: string | undefined = text.replace(/^\ufeff/, ''); left !== undefined;) {
    const { lines, fault, rest } = parseEnvAssignments(left);
    read.assignments.push(...lines);
    if (fault !== undefined) read.unread++;
    const next = read.unread > maxUnread ? -1 : (rest?.indexOf('\n') ?? -1);
    left = next < 0 ? undefined : rest?.slice(next + 1);
  }
  return read;
}

/** The values of an env file; a variable in one has the value of an earlier line, or of `valueOf`. */
export function envValues({ assignments }: EnvFile, valueOf: ValueOf): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, template } of assignments) {
    const value = interpolate(template, (variable) => valueOf(variable) ?? values.get(variable) ?? '');
    if (value !== null) values.set(name, unescapeDollars(value));
  }
  return values;
}

/**
 * Writes out the values of variables in places where a bundle must not have any. These are names that other parts refer
 * to, paths, and values that give a container a privilege over the host.
 */
export function writeOutVariables(work: ImportWork, documents: readonly ProjectDocument[]): void {
  const scalarsAt = (key: string) =>
    serviceNodes(documents, (map, document) => scalarsBelow(valueAt(map, document, ...key.split('.')), document));
  for (const key of literalServiceKeys)
    for (const { node, owner } of scalarsAt(key)) writeOut(node, { owner, key }, work);
  for (const key of ['labels', 'environment'])
    for (const { node, owner } of serviceNodes(documents, (map, document) => listItems(map, document, key)))
      writeOutName(node, { owner, key }, work);
  for (const { node, owner } of scalarsAt('ports'))
    if (isOpenPort(node.value, work)) writeOut(node, { owner, key: 'ports' }, work);
  for (const document of documents) writeOutSections(work, document);
}

const literalServiceKeys = (
  'cap_add cgroup cgroup_parent configs depends_on devices device_cgroup_rules env_file extends external_links gpus group_add ipc ' +
  'label_file links logging.driver network_mode networks oom_kill_disable oom_score_adj pid privileged profiles runtime ' +
  'secrets security_opt tmpfs user userns_mode uts volumes volumes_from deploy.resources.reservations.devices'
).split(' ');

const literalSectionKeys: Readonly<Record<string, readonly string[]>> = {
  networks: ['name', 'external', 'driver', 'driver_opts', 'ipam'],
  volumes: ['name', 'external', 'driver', 'driver_opts'],
  configs: ['name', 'external', 'file', 'environment'],
  secrets: ['name', 'external', 'file', 'environment'],
};

interface Writing {
  work: ImportWork;
  document: ProjectDocument;
}

function writeOutSections(work: ImportWork, document: ProjectDocument): void {
  const root = document.root;
  for (const key of ['name', 'include'])
    writeOutBelow(valueAt(root, document, key), { owner: `file ${document.path}`, key }, { work, document });
  for (const [section, keys] of Object.entries(literalSectionKeys)) {
    for (const [name, part] of entriesAt(valueAt(root, document, section), document)) {
      const owner = `${section.slice(0, -1)} ${name}`;
      for (const key of keys) writeOutBelow(valueAt(part, document, key), { owner, key }, { work, document });
    }
  }
}

function writeOutBelow(node: unknown, place: Place, { work, document }: Writing): void {
  for (const scalar of scalarsBelow(node, document)) writeOut(scalar, place, work);
}

/** The texts of a list of `NAME=value`. */
function listItems(map: MapNode, document: ProjectDocument, key: string): Scalar<string>[] {
  const list = resolve(valueAt(map, document, key), document);
  return isSeq(list) ? list.items.flatMap((item) => scalarAt(item, document) ?? []) : [];
}

/** Of `NAME=value` only the name is written out. */
function writeOutName(scalar: Scalar<string>, place: Place, work: ImportWork): void {
  const [name = ''] = scalar.value.split('=', 1);
  if (!name.includes('$') || textParts(name).includes(null)) return;
  const written = valueIn(name, work);
  if (written === null) leaveUnwritten(name, place, work);
  else {
    tellWrittenOut([name, written], place, work);
    setText(scalar, written + scalar.value.slice(name.length));
  }
}

function writeOut(scalar: Scalar<string>, place: Place, work: ImportWork): void {
  if (/^(volumes|file|env_file)$/.test(place.key)) writeOutHome(scalar, work);
  if (!scalar.value.includes('$')) return;
  const written = valueIn(scalar.value, work);
  if (written === null) leaveUnwritten(scalar.value, place, work);
  else if (written !== scalar.value) {
    tellWrittenOut([scalar.value, written], place, work);
    setText(scalar, written);
  }
}

/** A path in a home that the project does not say is one as `~` means it. */
function writeOutHome(scalar: Scalar<string>, { register }: ImportWork): void {
  if (register.openValueOf('HOME') !== null) return;
  const text = scalar.value.replace(/^\$(HOME|\{HOME\})(?=[/:]|$)/, '~');
  if (text !== scalar.value) setText(scalar, text);
}

function tellWrittenOut([before, after]: [string, string], place: Place, work: ImportWork): void {
  tellChange(work, place, [
    `${printable(before)} is written out as ${printable(after)}`,
    'a variable must not decide a name, a path or a privilege over the host',
  ]);
}

function leaveUnwritten(text: string, place: Place, work: ImportWork): void {
  const name = textParts(text).find(
    (part) => part !== null && typeof part !== 'string' && valueIn(part.source, work) === null,
  );
  const variable = name !== null && typeof name === 'object' ? name.name : 'NAME';
  leaveUndecided(work, place, [
    `${printable(text)} has no value that may be written out`,
    `--variable ${variable}=VALUE`,
  ]);
}

function valueIn(text: string, { register }: ImportWork): string | null {
  const valueOf = (name: string) => register.openValueOf(name) ?? (name === 'PWD' ? '.' : null);
  return rewriteVariables(text, (variable) => {
    if (register.isSecret(variable.name, register.values.get(variable.name) ?? null)) return null;
    return resolveVariable(variable, valueOf)?.replaceAll('$', '$$$$') ?? null;
  });
}

/** Whether a port has a variable where a range could be: compose expands a range before anyone sees the model. */
function isOpenPort(text: string, work: ImportWork): boolean {
  if (!text.includes('$')) return false;
  const isSimple = /^([^$]|\$\{\w+(:?-[\d.]*)?\}|\$\w+)*$/.test(text);
  return !isSimple || /\d-/.test(valueIn(text, work) ?? '') || /-\$|\}-/.test(text);
}

/** The texts of a value. */
export function scalarsBelow(node: unknown, document: ProjectDocument, depth = 0): Scalar<string>[] {
  const found = resolve(node, document);
  if (depth > maxDepth) return [];
  if (isScalar(found)) return typeof found.value === 'string' ? [found as Scalar<string>] : [];
  if (isSeq(found)) return found.items.flatMap((item) => scalarsBelow(item, document, depth + 1));
  return isMap(found) ? found.items.flatMap(({ value }) => scalarsBelow(value, document, depth + 1)) : [];
}

const maxDepth = 40;
