import { isMap } from 'yaml';
import { printable } from '../../../protocol/printable.ts';
import { leaveUndecided, tellChange, type ImportWork } from './importWork.ts';
import { mergeService } from './mergeService.ts';
import { parseProjectFile, type ProjectDocument } from './projectDocument.ts';
import { directoryOf, joinPath } from './projectTree.ts';
import { rebasePaths } from './rebase.ts';
import { ownMapOf, servicesOf } from './services.ts';
import { writeOutVariables } from './writtenOutVariables.ts';
import { effectivePair, itemsAt, ownValue, removeKey, textAt, valueAt, writtenOut, type MapNode } from './yamlNodes.ts';

/** Includes in includes, and bases of bases. */
const maxDepth = 10;

/** Reads compose files of the project and what they include and extend; `problems` tells what is no compose file. */
export function readProject(paths: readonly string[], work: ImportWork): string[] {
  const seen = new Set<string>();
  const problems = paths.flatMap((path) => addFile(path, '.', { work, seen, depth: 0 }));
  if (problems.length === 0) resolveExtends(work);
  return problems;
}

interface Reading {
  work: ImportWork;
  /** Paths of the files that are added, or about to be. */
  seen: Set<string>;
  depth: number;
}

/** Adds the documents of a file once, behind those that it includes. */
function addFile(path: string, base: string, reading: Reading): string[] {
  const { work, seen } = reading;
  if (seen.has(path)) return [];
  seen.add(path);
  const read = openFile(path, base, work);
  if ('problems' in read) return read.problems;
  const problems = read.documents.flatMap((document) => readIncludes(document, base, reading));
  work.documents.push(...read.documents);
  return problems;
}

function openFile(path: string, base: string, work: ImportWork): ReturnType<typeof parseProjectFile> {
  const text = work.tree.textOf(path);
  if (text === null) return { problems: [`${printable(path)} cannot be read`] };
  const read = parseProjectFile(path, text);
  if ('problems' in read) return read;
  writeOutVariables(work, read.documents);
  for (const document of read.documents) rebasePaths(document, base);
  return read;
}

function readIncludes(document: ProjectDocument, base: string, { work, seen, depth }: Reading): string[] {
  const place = { owner: `file ${document.path}`, key: 'include' };
  const includes = itemsAt(valueAt(document.root, document, 'include'), document);
  const isKept = includes.map((include) => {
    const paths = itemsAt(valueAt(include, document, 'path') ?? include, document).map((one) => textAt(one, document));
    const files = paths.map((path) => (path === null || /^[/~$]|:\/\/|^git@/.test(path) ? null : joinPath(base, path)));
    if (depth >= maxDepth || files.includes(null) || files.some((file) => work.tree.kindOf(file ?? '') !== 'file')) {
      leaveUndecided(work, place, [
        `${printable(paths.join(', '))} is no file of the project`,
        'fetch it, and name it by -f',
      ]);
      return { problems: [], kept: true };
    }
    const directory = textAt(valueAt(include, document, 'project_directory'), document);
    const ownBase = directory === null ? directoryOf(files[0] ?? '.') : joinPath(base, directory);
    const problems = files.flatMap((file) => addFile(file ?? '', ownBase, { work, seen, depth: depth + 1 }));
    for (const file of files) tellChange(work, place, [printable(file ?? ''), 'the manifest names all compose files']);
    return { problems, kept: false };
  });
  if (isKept.every(({ kept }) => !kept)) removeKey(document.root as MapNode, 'include');
  return isKept.flatMap(({ problems }) => problems);
}

/** Merges each service with the base of another file that it extends. */
function resolveExtends(work: ImportWork): void {
  const opened = new Map<string, ProjectDocument[]>();
  for (const service of work.documents.flatMap(servicesOf)) {
    const { name, document, layers } = service;
    const extended = effectivePair(layers, 'extends')?.value;
    const file = textAt(valueAt(extended, document, 'file'), document);
    if (file === null) continue;
    const base = baseOf(joinPath('.', file), textAt(valueAt(extended, document, 'service'), document), {
      ...{ work, opened, depth: 0 },
    });
    const place = { owner: `service ${name}`, key: 'extends' };
    const written = writtenOut(layers[0], document);
    if (base === null || !isMap(written)) {
      leaveUndecided(work, place, [
        `${printable(file)} has no such service, or cannot be read`,
        'write the service out',
      ]);
      continue;
    }
    removeKey(written as MapNode, 'extends');
    ownMapOf(service).items = mergeService(base, written as MapNode).items;
    tellChange(work, place, [
      `the service of ${printable(file)} is written out`,
      'each file of a bundle is judged by itself',
    ]);
  }
}

interface Opening {
  work: ImportWork;
  opened: Map<string, ProjectDocument[]>;
  depth: number;
}

/** A service of another file, with its own bases; null when there is none. */
function baseOf(file: string, name: string | null, opening: Opening): MapNode | null {
  const { work, opened, depth } = opening;
  if (name === null || depth > maxDepth) return null;
  const documents = opened.get(file) ?? documentsOf(openFile(file, directoryOf(file), work));
  opened.set(file, documents);
  const found = documents.flatMap(servicesOf).find((service) => service.name === name);
  const own = found === undefined ? null : writtenOut(found.layers[0], found.document);
  if (!isMap(own)) return null;
  const extended = ownValue(own as MapNode, 'extends');
  if (extended === undefined || found === undefined) return own as MapNode;
  const { document } = found;
  const nextFile = textAt(valueAt(extended, document, 'file'), document);
  const next = textAt(valueAt(extended, document, 'service') ?? extended, document);
  const base = baseOf(nextFile === null ? file : joinPath('.', nextFile), next, { ...opening, depth: depth + 1 });
  removeKey(own as MapNode, 'extends');
  return base === null ? null : mergeService(base, own as MapNode);
}

function documentsOf(read: ReturnType<typeof parseProjectFile>): ProjectDocument[] {
  return 'problems' in read ? [] : read.documents;
}
