import type { Manifest, Refusal } from '../../../machines/words.ts';
import { variablesOf } from './uses.ts';
import { openedPaths } from './contents.ts';
import { judgeControls } from './controls.ts';
import { refusalsOf, refuse, type Facts, type Finding, type Place } from './finding.ts';
import { extendsFault } from './layers.ts';
import { directoriesOf } from './paths.ts';
import { fileKeys } from './sections.ts';
import { keys, within } from './shapes.ts';
import { at, entriesOf, treeOf, type ComposeFile, type Tree } from './tree.ts';

const judgeFile = keys(fileKeys);

/** What the policy may know of a bundle besides its compose files. */
export type Context = Omit<Facts, 'composeFiles' | 'directories' | 'rendered'> & { readonly manifest: Manifest };

/**
 * Judges a bundle's compose files by an allow-list (spec §12). Every file is judged by itself: what compose merges from
 * several is made of values that all were judged where they stand. `allow_privileged` lifts power and host network only.
 */
export function judgeCompose(files: readonly ComposeFile[], { manifest, ...context }: Context): Refusal[] {
  const facts = { ...factsOf(context, manifest), opened: openedPaths(files) };
  // of files that nobody could read nothing more is known
  const nothing = files.length === 0 ? [] : judgeServices(files);
  return unlifted([...files.flatMap((file) => findingsOf(file, facts)), ...nothing], manifest);
}

/**
 * Judges what compose made of a bundle's files in `dir` by the same policy as the files themselves. The model holds the
 * values of secrets, so its findings name part and key alone.
 */
export function judgeModel(model: unknown, dir: string, { manifest, ...context }: Context): Refusal[] {
  const facts = { ...factsOf(context, manifest), rendered: { dir: escaped(dir) } };
  const root = treeOf(model);
  const place = { facts, file: '', where: 'model', key: '' };
  return unlifted([...judgeFile(root, place), ...judgeControls(root, place), ...judgeServices([{ root }])], manifest);
}

function factsOf(context: Omit<Context, 'manifest'>, { compose }: Manifest): Facts {
  return { ...context, directories: directoriesOf(context.releaseFiles), composeFiles: compose };
}

/** A rendered model doubles every dollar sign. */
function escaped(dir: string): string {
  return dir.replaceAll('$', '$$$$');
}

function unlifted(findings: Finding[], { agent }: Manifest): Refusal[] {
  return refusalsOf(findings.filter(({ code }) => !agent.allow_privileged || code === 'COMPOSE_REFUSED'));
}

function findingsOf({ path, root }: ComposeFile, facts: Facts): Finding[] {
  const place = { facts, file: path, where: 'file', key: '' };
  const malformed = entriesOf(root).flatMap(([key, value]) => malformedOf(key, value, place));
  const services = at(root, 'services');
  const extending = entriesOf(services).flatMap(([name, service]) => {
    const fault = extendsFault(services, name);
    return fault === null
      ? []
      : refuse(at(service, 'extends') ?? service, { ...place, where: `service ${name}` }, fault);
  });
  return [...judgeFile(root, place), ...judgeControls(root, place), ...extending, ...malformed];
}

/** Variables that compose could not read, each told with the service, or whatever part, and the key that it stands under. */
function malformedOf(section: string, value: Tree, place: Place): Finding[] {
  const [, kind] = /^(config|network|secret|service|volume)s$/.exec(section) ?? [];
  if (kind === undefined || value.kind !== 'map') return malformedIn(value, within(place, section));
  return entriesOf(value).flatMap(([name, part]) => malformedIn(part, { ...place, where: `${kind} ${name}` }));
}

function malformedIn(tree: Tree, place: Place): Finding[] {
  if (tree.kind === 'list') return tree.items.flatMap((item) => malformedIn(item, place));
  if (tree.kind === 'map') return entriesOf(tree).flatMap(([key, inner]) => malformedIn(inner, within(place, key)));
  const { error } = variablesOf(tree.text);
  return error === undefined ? [] : refuse(tree, place, error);
}

function judgeServices(files: readonly { root: Tree }[]): Finding[] {
  const hasService = files.some(({ root }) => entriesOf(at(root, 'services')).length > 0);
  return hasService ? [] : [{ code: 'COMPOSE_REFUSED', text: 'no compose file has a service' }];
}
