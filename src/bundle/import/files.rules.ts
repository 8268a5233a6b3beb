import { isCollection, isMap, isSeq, type Node, Pair, type Scalar } from 'yaml';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { parseEnvAssignments, rawEnvFault } from '../compose/variables.rules.ts';
import { isBelow } from '../policy/policyHost.rules.ts';
import { bindMountsOf, projectPathOf } from './bindMounts.rules.ts';
import {
  bringFile,
  type ImportWork,
  isKeyFile,
  isSecretText,
  joinPath,
  leaveUndecided,
  normalizeRelative,
  type Place,
  replaceSecretParts,
  tellChange,
  variableFor,
  withoutSecrets,
} from './importWork.rules.ts';
import {
  ownerOf,
  ownMapOf,
  type ProjectDocument,
  type ProjectService,
  type ServiceNode,
  serviceNodes,
  type ServicePart,
  servicePartsOf,
  servicesOf,
} from './projectDocument.rules.ts';
import { readEnvFile, scalarsBelow } from './variables.rules.ts';
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
    const isSecret = isKeyFile(path, work);
    const into = work.tree.kindOf(path) === 'file' && !isSecret ? bringFile(path, work) : null;
    if (into !== null && into !== path) setText(scalar, into);
    if (isSecret)
      leaveUndecided(work, { owner, key: 'label_file' }, [
        `${printable(path)} holds a secret`,
        `write its labels into the compose file, or give --variable ${printable(path)} if it holds none`,
      ]);
    else if (into === null)
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
  const texts = new Map(
    assignments.map(({ name, template }) => [name, isRaw ? template.replaceAll('$', '$$$$') : template]),
  );
  const isMoved =
    isDotenv ||
    isUnreadable(text, isRaw) ||
    isWritten(own, work) ||
    [...texts].some(([name, one]) => isSecretText(name, one, work));
  const moving = { work, owner, isProjects: own === work.choices.envFile, path: isRaw ? null : own };
  for (const [name, one] of texts) texts.set(name, isMoved ? movedText(name, one, moving) : one);
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
  /** The path of an env file in the usual format. */
  path: string | null;
}

function movedText(name: string, text: string, moving: Moving): string {
  const { isProjects, path, work } = moving;
  const isVariable = /^[A-Za-z_]\w*$/.test(name) && !isReservedVariable(name);
  if (isProjects && isVariable) return `\${${name}}`;
  const moved = withoutSecrets(name, text, moving);
  const isNew = moved === `\${${name}}` && !work.secretSources.has(name);
  if (isNew && path !== null) work.secretSources.set(name, { path, isEnvFile: true });
  return moved;
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

function readFromSecretstore(map: MapNode, { work, document, place, name }: Context): void {
  const variable = work.register.variableFor(name.toUpperCase(), 'FILE', `file of ${name}`);
  const path = textAt(valueAt(map, document, 'file'), document);
  if (path !== null && !/^~|\$/.test(path)) work.secretSources.set(variable, { path, isEnvFile: false });
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

/** Keys of services with texts for programs, and whether the texts of one are the words of a command. */
const programTexts: readonly [key: string, separator: string][] = [
  ...['command', 'entrypoint', 'healthcheck.test'].map((key): [string, string] => [key, ' ']),
  ...['labels', 'annotations', 'deploy.labels', 'logging.options', 'post_start', 'pre_stop'].map(
    (key): [string, string] => [key, '\n'],
  ),
];

/** Replaces secrets in commands, health checks, labels and the contents of configs by variables. */
export function replaceWrittenSecrets(work: ImportWork): void {
  for (const [key, separator] of programTexts) {
    const nodes = serviceNodes(work.documents, (map, document) => {
      const node = resolve(valueAt(map, document, ...key.split('.')), document);
      return node === null ? [] : [node];
    });
    for (const { node, document, owner } of nodes)
      replaceInTexts(scalarsBelow(node, document), separator, { work, place: { owner, key } });
  }
  for (const document of work.documents)
    for (const [name, part] of entriesAt(valueAt(document.root, document, 'configs'), document)) {
      const content = scalarAt(valueAt(part, document, 'content'), document);
      const place = { owner: `config ${name}`, key: 'content' };
      if (content !== null) replaceInTexts([content], '\n', { work, place });
    }
}

function replaceInTexts(
  scalars: readonly Scalar<string>[],
  separator: string,
  { work, place }: { work: ImportWork; place: Place },
): void {
  const before = scalars.map(({ value }) => value);
  const { texts, variables } = replaceSecretParts(before, separator, { work, owner: place.owner });
  for (const [index, scalar] of scalars.entries())
    if (texts[index] !== scalar.value) setText(scalar, texts[index] ?? '');
  for (const variable of variables) tellSecret(work, place, `a part of it is \${${variable}} now`);
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
  const replaced = withoutSecrets(name, text, { work, owner: place.owner });
  tellSecret(work, place, /^\$\{\w+\}$/.test(replaced) ? `is ${replaced} now` : 'has variables for its secrets now');
  return replaced;
}

function tellSecret(work: ImportWork, place: Place, what: string): void {
  tellChange(work, place, [what, 'its value is a secret, and a bundle holds none']);
}

/**
 * The result for a name without a value: null leaves it out, as compose does if its own environment has none; '' keeps
 * it, because a variable has its value.
 */
function textOfBareName(name: string, place: Place, work: ImportWork): string | null {
  const value = work.register.values.get(name) ?? null;
  const isSecret = work.register.isSecret(name, value);
  const text = (value ?? '').replaceAll('$', '$$$$');
  if (isReservedVariable(name) && isSecret) {
    const reference = `\${${variableFor(name, text, { work, owner: place.owner })}}`;
    tellSecret(work, place, `is ${reference} now`);
    return reference;
  }
  if (value !== null || isSecret) return isReservedVariable(name) ? text : '';
  tellChange(work, place, [`${printable(name)} is left out`, 'it has no value in the project']);
  return null;
}
