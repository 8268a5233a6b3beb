import { isCollection, isMap, isSeq, type Node, Pair, type Scalar } from 'yaml';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { parseEnvAssignments, rawEnvFault, textParts } from '../compose/variables.rules.ts';
import { isBelow } from '../policy/policyHost.rules.ts';
import { bindMountsOf, projectPathOf } from './bindMounts.rules.ts';
import {
  bringFile,
  type ImportWork,
  isKeyFile,
  joinPath,
  leaveUndecided,
  normalizeRelative,
  type Place,
  tellChange,
} from './importWork.rules.ts';
import type { ProjectDocument } from './projectDocument.rules.ts';
import {
  ownerOf,
  ownMapOf,
  type ProjectService,
  type ServiceNode,
  serviceNodes,
  type ServicePart,
  servicePartsOf,
  servicesOf,
} from './services.rules.ts';
import { readEnvFile, unescapeDollars } from './variables.rules.ts';
import {
  effectivePair,
  entriesAt,
  isYesAt,
  itemsAt,
  layersOf,
  type ListNode,
  mapAt,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  removeKey,
  resolve,
  scalarAt,
  setText,
  setValue,
  textAt,
  valueAt,
  writtenOut,
} from './yamlNodes.rules.ts';

/** The result for an env file: it is included, becomes `environment`, or is left out; `missing` needs a decision. */
type Fate = 'kept' | 'environment' | 'left out' | 'missing';

/** One entry of `env_file`. */
interface Entry {
  node: Node;
  path: string;
  fate: Fate;
  /** The variables that the file sets, in compose's grammar. */
  texts: ReadonlyMap<string, string>;
}

/** Moves `.env`, and env files with secrets, into `environment`; other env files come along. */
export function replaceEnvFiles(work: ImportWork): void {
  const services = work.documents.flatMap(servicesOf);
  const plans = services.map((service) => ({ service, entries: entriesOf(service, work) }));
  for (const { service, entries } of plans) {
    const set = new Set(services.filter(({ name }) => name === service.name).flatMap(environmentNamesOf));
    const more = new Map<string, string>();
    for (const { fate, texts } of entries)
      for (const [name, text] of texts) {
        if (fate === 'environment' && !set.has(name)) more.set(name, text);
        else more.delete(name);
      }
    addToEnvironment(service, more);
  }
  for (const part of servicePartsOf(work.documents)) {
    bringLabelFiles(part, work);
    const entries = itemsAt(ownValue(part.map, 'env_file'), part.document).map((node) => entryOf(node, part, work));
    const gone = new Set(entries.filter((entry) => isGone(entry, part, work)).map(({ node }) => node));
    const list = resolve(ownValue(part.map, 'env_file'), part.document);
    if (isSeq(list)) list.items = list.items.filter((item) => !gone.has(item as Node));
    if (gone.size > 0 && (!isSeq(list) || list.items.length === 0)) removeKey(part.map, 'env_file');
  }
}

function bringLabelFiles({ map, document, owner }: ServicePart, work: ImportWork): void {
  for (const item of itemsAt(ownValue(map, 'label_file'), document)) {
    const scalar = scalarAt(item, document);
    const path = normalizeRelative(scalar?.value ?? '');
    if (scalar === null || /^[/~]|\$/.test(scalar.value)) continue;
    const into = work.tree.kindOf(path) === 'file' ? bringFile(path, work) : null;
    if (into !== null && into !== path) setText(scalar, into);
    if (into === null)
      leaveUndecided(work, { owner, key: 'label_file' }, [
        `${printable(path)} is not there`,
        'make it, or take it out',
      ]);
  }
}

function entriesOf({ name, layers, document }: ProjectService, work: ImportWork): Entry[] {
  const nodes = itemsAt(effectivePair(layers, 'env_file')?.value, document);
  return nodes.map((node) => entryOf(node, { document, owner: ownerOf([name]) }, work));
}

function entryOf(
  node: Node,
  { document, owner }: Pick<ProjectService, 'document'> & { owner: string },
  work: ImportWork,
): Entry {
  const path = textAt(valueAt(node, document, 'path') ?? node, document) ?? '';
  const isRaw = textAt(valueAt(node, document, 'format'), document) === 'raw';
  const required = valueAt(node, document, 'required');
  const isRequired = required === null || isYesAt(required, document);
  const own = normalizeRelative(path);
  const text = /^[/~]|\$/.test(path) ? null : work.tree.textOf(own);
  const entry = { node, path: own, texts: new Map<string, string>() };
  if (text === null) return { ...entry, path, fate: isRequired ? 'missing' : 'left out' };
  const { assignments } = readEnvFile(text);
  const isDotenv = own === '.env' || own.endsWith('/.env');
  const isProjects = own === work.choices.envFile;
  const texts = new Map(
    assignments.map(({ name, template }) => [name, isRaw ? template.replaceAll('$', '$$$$') : template]),
  );
  const isMoved =
    isDotenv ||
    isUnreadable(text, isRaw) ||
    isWritten(own, work) ||
    [...texts].some(([name, one]) => isSecretText(name, one, work));
  for (const [name, one] of texts) texts.set(name, isMoved ? movedText(name, one, { work, owner, isProjects }) : one);
  return { ...entry, fate: isMoved ? 'environment' : 'kept', texts };
}

function isUnreadable(text: string, isRaw: boolean): boolean {
  return (isRaw ? rawEnvFault(text) : (parseEnvAssignments(text).fault ?? null)) !== null;
}

/** Whether a container may write to the directory of a file, so that a bundle may not read it there. */
function isWritten(path: string, work: ImportWork): boolean {
  const writable = bindMountsOf(work).filter(({ mount }) => !mount.isReadOnly && !/^[/~]/.test(mount.source));
  return writable.some(({ mount }) => isBelow(path, projectPathOf(mount)));
}

interface Moving {
  work: ImportWork;
  owner: string;
  /** Whether it is the file with the values of the project's variables. */
  isProjects: boolean;
}

function movedText(name: string, text: string, { work, owner, isProjects }: Moving): string {
  const isVariable = /^[A-Za-z_]\w*$/.test(name) && !isReservedVariable(name);
  if (isProjects && isVariable) return `\${${name}}`;
  return isSecretText(name, text, work) ? secretReference(name, text, { work, owner }) : text;
}

function environmentNamesOf({ layers, document }: ProjectService): string[] {
  return namesOf(effectivePair(layers, 'environment')?.value, document);
}

/** Reports the result for an entry; returns whether it leaves the list. */
function isGone({ node, path, fate }: Entry, { document, owner }: ServicePart, work: ImportWork): boolean {
  const place = { owner, key: 'env_file' };
  const name = printable(path);
  if (fate === 'environment')
    tellChange(work, place, [
      `${name} is part of environment now`,
      'a bundle has no secrets, and reads no file that a container may write',
    ]);
  if (fate === 'left out') tellChange(work, place, [`${name} is left out`, 'it is not there, and not required']);
  if (fate === 'missing') leaveUndecided(work, place, [`${name} is not there`, 'make it, or take it out']);
  if (fate !== 'kept') return fate !== 'missing';
  const into = bringFile(path, work);
  work.envFiles.add(path);
  const scalar = scalarAt(valueAt(node, document, 'path') ?? node, document);
  if (into !== path && scalar !== null) setText(scalar, into);
  return false;
}

/** Brings the files of configs along; secrets, and configs that hold a key, get their content from the secretstore. */
export function replaceContents(work: ImportWork): void {
  for (const document of work.documents) {
    for (const section of ['configs', 'secrets'] as const) {
      for (const [name, part] of entriesAt(valueAt(document.root, document, section), document)) {
        const map = mapAt(part, document);
        const place = { owner: `${section.slice(0, -1)} ${name}`, key: 'file' };
        if (map !== null) replaceContent(map, { work, document, place, name, isSecret: section === 'secrets' });
      }
    }
  }
}

interface Context {
  work: ImportWork;
  document: ProjectDocument;
  place: Place;
  name: string;
  isSecret: boolean;
}

function replaceContent(map: MapNode, context: Context): void {
  const { work, document, place, isSecret } = context;
  const file = scalarAt(valueAt(map, document, 'file'), document);
  const variable = textAt(valueAt(map, document, 'environment'), document);
  const isExternal = isYesAt(valueAt(map, document, 'external'), document);
  if (isSecret && variable !== null) work.register.secrets.add(variable);
  else if (isSecret && (file !== null || isExternal)) readFromSecretstore(map, context);
  else if (isExternal) leaveUndecided(work, place, ['comes from outside the project', 'make it a file of the project']);
  else if (file !== null && !file.value.includes('$')) bringContent(map, file, context);
}

function bringContent(map: MapNode, file: Scalar<string>, context: Context): void {
  const { work, place } = context;
  const path = joinPath('.', file.value);
  if (/^[/~]/.test(file.value) || work.tree.kindOf(path) !== 'file')
    leaveUndecided(work, place, [`${printable(file.value)} is not a file of the project`, 'make it one']);
  else if (isKeyFile(path, work)) readFromSecretstore(map, context);
  else if (bringFile(path, work) !== path) setText(file, `./${bringFile(path, work)}`);
}

function readFromSecretstore(map: MapNode, { work, place, name }: Context): void {
  const variable = work.register.variableFor(name.toUpperCase(), 'FILE', `file of ${name}`);
  for (const key of ['file', 'external', 'name', 'driver', 'driver_opts']) removeKey(map, key);
  setValue(map, 'environment', newScalar(variable));
  tellChange(work, place, [`its content is the variable ${variable} now`, 'it is a secret, and a bundle holds none']);
}

/** Replaces secrets in `environment` by variables, and drops names that have no value here. */
export function replaceEnvironmentSecrets(work: ImportWork): void {
  const nodes = serviceNodes(work.documents, (map, document) =>
    environmentNodes(valueAt(map, document, 'environment'), document),
  );
  for (const { node, ...service } of nodes) {
    if (isSeq(node)) replaceInList(node, service, work);
    else replaceInMap(node, service, work);
  }
}

/** The names that an `environment` sets. */
function namesOf(environment: unknown, document: ProjectDocument): string[] {
  return environmentNodes(environment, document).flatMap((node) =>
    isSeq(node)
      ? node.items.flatMap((item) => scalarAt(item, document)?.value.split('=', 1) ?? [])
      : node.items.map(({ key }) => key.value).filter((key) => key !== '<<'),
  );
}

/** Adds variables to the `environment` of a service, in an own copy where it shares one with others. */
function addToEnvironment(service: ProjectService, more: ReadonlyMap<string, string>): void {
  const { document, layers } = service;
  if (more.size === 0) return;
  const own = ownMapOf(service);
  const before = ownValue(own, 'environment') ?? effectivePair(layers, 'environment')?.value;
  const isOwn = before === ownValue(own, 'environment') && isCollection(before) && before.anchor === undefined;
  const environment = isOwn ? before : (writtenOut(before, document) ?? newMap());
  for (const [name, text] of more) {
    if (isSeq(environment)) environment.items.push(newScalar(`${name}=${text}`));
    else if (isMap(environment)) environment.items.push(new Pair(newScalar(name), newScalar(text)));
  }
  if (!isOwn) setValue(own, 'environment', environment);
}

/** The replacement for a secret of a file: the variable that has its value. */
function secretReference(name: string, text: string, { work, owner }: { work: ImportWork; owner: string }): string {
  const service = owner.replace(/^services? ([^,]*).*$/, '$1').toUpperCase();
  const variable = work.register.variableFor(name, service, unescapeDollars(text));
  return `\${${variable}}`;
}

/** Whether a text of a file is a secret: a literal one, or one with a literal password in a URL. */
function isSecretText(name: string, text: string, { register }: ImportWork): boolean {
  if (text === '') return false;
  const isLiteral = textParts(text).every((part) => typeof part === 'string');
  return isLiteral ? register.isSecret(name, unescapeDollars(text)) : register.isSecret('', text);
}

function environmentNodes(environment: unknown, document: ProjectDocument): (ListNode | MapNode)[] {
  const found = resolve(environment, document);
  if (isSeq(found)) return [found as ListNode];
  return isMap(found) ? layersOf(found as MapNode, document) : [];
}

type NodeOwner = Omit<ServiceNode<Node>, 'node'>;

function replaceInList(list: ListNode, { document, owner }: NodeOwner, work: ImportWork): void {
  const dropped = new Set<Node>();
  for (const item of list.items) {
    const scalar = scalarAt(item, document);
    const [name = ''] = scalar?.value.split('=', 1) ?? [];
    if (scalar === null) continue;
    const place = { owner, key: `environment.${name}` };
    if (!scalar.value.includes('=')) {
      const text = textOfBareName(name, place, work);
      if (text === null) dropped.add(item);
      else if (text !== '') setText(scalar, `${name}=${text}`);
      continue;
    }
    const text = scalar.value.slice(name.length + 1);
    if (isSecretText(name, text, work)) setText(scalar, `${name}=${replaceSecret(name, text, { place, work })}`);
  }
  list.items = list.items.filter((item) => !dropped.has(item));
}

function replaceInMap(map: MapNode, { document, owner }: NodeOwner, work: ImportWork): void {
  map.items = map.items.filter((pair) => {
    const name = pair.key.value;
    const place = { owner, key: `environment.${name}` };
    const scalar = scalarAt(pair.value, document);
    if (name === '<<' || isCollection(resolve(pair.value, document))) return true;
    if (scalar === null) {
      const text = textOfBareName(name, place, work);
      if (text !== null && text !== '') pair.value = newScalar(text);
      return text !== null;
    }
    if (isSecretText(name, scalar.value, work)) setText(scalar, replaceSecret(name, scalar.value, { place, work }));
    return true;
  });
}

function replaceSecret(name: string, text: string, { place, work }: { place: Place; work: ImportWork }): string {
  const reference = secretReference(name, text, { work, owner: place.owner });
  tellChange(work, place, [`is ${reference} now`, 'its value is a secret, and a bundle holds none']);
  return reference;
}

/**
 * The result for a name without a value: null leaves it out, as compose does if its own environment has none; '' keeps
 * it, because a variable has its value.
 */
function textOfBareName(name: string, place: Place, work: ImportWork): string | null {
  const value = work.register.values.get(name) ?? null;
  const isSecret = work.register.isSecret(name, value);
  const text = (value ?? '').replaceAll('$', '$$$$');
  if (isReservedVariable(name) && isSecret) return replaceSecret(name, text, { place, work });
  if (value !== null || isSecret) return isReservedVariable(name) ? text : '';
  tellChange(work, place, [`${printable(name)} is left out`, 'it has no value in the project']);
  return null;
}
