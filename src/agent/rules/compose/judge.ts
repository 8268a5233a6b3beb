import type { Manifest, Refusal } from '../../../../machines/words.ts';
import { variablesOf } from './uses.ts';
import { judgeBounds, judgeWeight } from './bounds.ts';
import { openedPaths } from './contents.ts';
import { judgeControls } from './controls.ts';
import { beyond, refusalsOf, refuse, type Facts, type Finding, type Judge, type Place } from './finding.ts';
import { extendsFault } from './layers.ts';
import { limits } from './limits.ts';
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
  const whole = files.length === 0 ? [] : [...judgeServices(files), ...judgeWeight(files)];
  const bounds = judgeBounds(files, context.texts);
  return unlifted([...files.flatMap((file) => findingsOf(file, facts)), ...whole, ...bounds], manifest);
}

/**
 * Judges what compose made of a bundle's files in `dir` by the same policy as the files themselves. The model holds the
 * values of secrets, so its findings name part and key alone.
 */
export function judgeModel(model: unknown, dir: string, { manifest, ...context }: Context): Refusal[] {
  const facts = { ...factsOf(context, manifest), rendered: { dir: escaped(dir) } };
  const root = treeOf(model);
  const place = { facts, file: '', where: 'model', key: '' };
  const own = [...judgeFile(root, place), ...judgeControls(root, place), ...throughout(root, place, size)];
  return unlifted([...own, ...judgeServices([{ root }]), ...judgeBounds([{ root }])], manifest);
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
  const services = at(root, 'services');
  const extending = entriesOf(services).flatMap(([name, service]) => {
    const fault = extendsFault(services, name);
    return fault === null
      ? []
      : refuse(at(service, 'extends') ?? service, { ...place, where: `service ${name}` }, fault);
  });
  return [...judgeFile(root, place), ...judgeControls(root, place), ...extending, ...throughout(root, place, form)];
}

/** Judges every value, each told with the service, or whatever part, and the key that it stands under. */
function throughout(root: Tree, place: Place, judge: Judge): Finding[] {
  return [
    ...judge(root, place),
    ...entriesOf(root).flatMap(([section, value]) => {
      const [, kind] = /^(config|network|secret|service|volume)s$/.exec(section) ?? [];
      const inside = within(place, section);
      if (kind === undefined || value.kind !== 'map') return below(value, inside, judge);
      const parts = entriesOf(value).flatMap(([name, part]) =>
        below(part, { ...place, where: `${kind} ${name}` }, judge),
      );
      return [...judge(value, inside), ...parts];
    }),
  ];
}

function below(tree: Tree, place: Place, judge: Judge): Finding[] {
  const items = tree.kind === 'list' ? tree.items : [];
  return [
    ...judge(tree, place),
    ...items.flatMap((item) => below(item, place, judge)),
    ...entriesOf(tree).flatMap(([key, inner]) => below(inner, within(place, key), judge)),
  ];
}

const size: Judge = (tree, place) =>
  tree.kind === 'map' && tree.entries.size > limits.keys
    ? beyond(tree, place, `has more than ${limits.keys} keys`)
    : [];

/** What is too long, and variables that compose could not read; a rendered text may hold the values of several secrets. */
const form: Judge = (tree, place) => {
  if (tree.kind !== 'scalar') return size(tree, place);
  const { error } = variablesOf(tree.text);
  return [
    ...(tree.text.length > limits.text ? beyond(tree, place, `has more than ${limits.text} characters`) : []),
    ...(error === undefined ? [] : refuse(tree, place, error)),
  ];
};

function judgeServices(files: readonly { root: Tree }[]): Finding[] {
  const hasService = files.some(({ root }) => entriesOf(at(root, 'services')).length > 0);
  return hasService ? [] : [{ code: 'COMPOSE_REFUSED', text: 'no compose file has a service' }];
}
