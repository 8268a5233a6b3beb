import { isCollection, isMap, isSeq, type Node, Pair } from 'yaml';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { textParts } from '../compose/variables.rules.ts';
import { type ImportWork, type Place, tellChange } from './importWork.rules.ts';
import type { ProjectDocument } from './projectDocument.rules.ts';
import { ownMapOf, type ProjectService, type ServiceNode, serviceNodes } from './services.rules.ts';
import { unescapeDollars } from './variables.rules.ts';
import {
  effectivePair,
  layersOf,
  type ListNode,
  type MapNode,
  newMap,
  newScalar,
  ownValue,
  resolve,
  scalarAt,
  setText,
  setValue,
  valueAt,
  writtenOut,
} from './yamlNodes.rules.ts';

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
export function namesOf(environment: unknown, document: ProjectDocument): string[] {
  return environmentNodes(environment, document).flatMap((node) =>
    isSeq(node)
      ? node.items.flatMap((item) => scalarAt(item, document)?.value.split('=', 1) ?? [])
      : node.items.map(({ key }) => key.value).filter((key) => key !== '<<'),
  );
}

/** Adds variables to the `environment` of a service, in an own copy where it shares one with others. */
export function addToEnvironment(service: ProjectService, more: ReadonlyMap<string, string>): void {
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
export function secretReference(
  name: string,
  text: string,
  { work, owner }: { work: ImportWork; owner: string },
): string {
  const service = owner.replace(/^services? ([^,]*).*$/, '$1').toUpperCase();
  const variable = work.register.variableFor(name, service, unescapeDollars(text));
  return `\${${variable}}`;
}

/** Whether a text of a file is a secret: a literal one, or one with a literal password in a URL. */
export function isSecretText(name: string, text: string, { register }: ImportWork): boolean {
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
