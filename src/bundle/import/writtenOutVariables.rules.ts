import { isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { printable } from '../../core/text.rules.ts';
import { textParts } from '../compose/variables.rules.ts';
import { type ImportWork, leaveUndecided, type Place, tellChange } from './importWork.rules.ts';
import type { ProjectDocument } from './projectDocument.rules.ts';
import { serviceNodes } from './services.rules.ts';
import { resolveVariable, rewriteVariables } from './variables.rules.ts';
import { entriesAt, type MapNode, resolve, scalarAt, setText, valueAt } from './yamlNodes.rules.ts';

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

interface Context {
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

function writeOutBelow(node: unknown, place: Place, { work, document }: Context): void {
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
  if (written === null) leaveOpen(name, place, work);
  else {
    tellWrittenOut([name, written], place, work);
    setText(scalar, written + scalar.value.slice(name.length));
  }
}

function writeOut(scalar: Scalar<string>, place: Place, work: ImportWork): void {
  if (/^(volumes|file|env_file)$/.test(place.key)) writeOutHome(scalar, work);
  if (!scalar.value.includes('$')) return;
  const written = valueIn(scalar.value, work);
  if (written === null) leaveOpen(scalar.value, place, work);
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

function leaveOpen(text: string, place: Place, work: ImportWork): void {
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

function scalarsBelow(node: unknown, document: ProjectDocument, depth = 0): Scalar<string>[] {
  const found = resolve(node, document);
  if (depth > maxDepth) return [];
  if (isScalar(found)) return typeof found.value === 'string' ? [found as Scalar<string>] : [];
  if (isSeq(found)) return found.items.flatMap((item) => scalarsBelow(item, document, depth + 1));
  return isMap(found) ? found.items.flatMap(({ value }) => scalarsBelow(value, document, depth + 1)) : [];
}

const maxDepth = 40;
