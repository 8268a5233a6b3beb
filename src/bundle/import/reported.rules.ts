import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type AppliedEffect, applyEffect, type ImportReport, masked, type Reported } from './importWork.rules.ts';
import { isPart, mapTexts, type Model, type Part, withoutAdditions } from './model.rules.ts';

/** Where two projects differ for compose, and the values where they may be shown. */
export type Difference = Reported;

/** The effects and open decisions of an import, and the name of the bundle's project. */
interface KnownChanges {
  effects: readonly AppliedEffect[];
  report: Pick<ImportReport, 'undecided'>;
  projectName: string;
}

/** The differences between a project and its bundle, and effects, that the report of the import does not name. */
export function unreportedDifferences(
  { before, after }: { before: Model; after: Model },
  { effects, report: { undecided }, projectName }: KnownChanges,
): Difference[] {
  withoutAdditions(before, projectName);
  const unnamed = effects.flatMap((effect) => unnamedChanges(before, effect));
  const [expected, found] = [before, after].map((model) => withoutAdditions(model, projectName));
  const differences = differencesOf(expected as Model, found as Model).filter(
    (difference) => !undecided.some(({ owner, key }) => owner === difference.owner && isPartOf(difference.key, key)),
  );
  return [...unnamed, ...differences];
}

/**
 * Applies an effect, and returns what it changes although its row in the report does not name it. A row names its place,
 * and by words other keys of the same part, and new parts. A row for mounts names one mount.
 */
export function unnamedChanges(model: Model, applied: AppliedEffect): Difference[] {
  const before = mapTexts(model, (text) => text) as Model;
  applyEffect(model, applied);
  const words = new Set(applied.what.split(/[\s,;:]+/));
  return changesBetween(before, model).flatMap(({ owner, keys, left, right }) => {
    const [first = owner.slice(owner.indexOf(' ') + 1)] = keys;
    const isOwn = owner === applied.owner;
    const isOneItem = first !== 'volumes' || itemsOnlyIn(left, right).length < 2;
    const isAtPlace = isOwn && isOneItem && `${keys.join('.')}.`.startsWith(`${applied.key}.`);
    const isNew = keys.length === 0 && left === undefined;
    if (isAtPlace || ((isOwn || isNew) && words.has(first))) return [];
    return [{ owner, key: keys.join('.'), what: `is changed, and the report says only: ${applied.what}` }];
  });
}

function isPartOf(key: string, reported: string): boolean {
  return `${key}.`.startsWith(`${reported}.`) || `${reported}.`.startsWith(`${key}.`);
}

/** Each difference between two models, as deep as both have mappings. */
export function differencesOf(one: Model, other: Model): Difference[] {
  return changesBetween(one, other).map(({ owner, keys, left, right }) => {
    if (keys.length === 0)
      return { owner, key: '', what: `is only in the ${left === undefined ? 'bundle' : 'project'}` };
    const what = openKeys.has(keys[0] ?? '') ? shownDifference(left, right) : 'differs from the project';
    return { owner, key: keys.join('.'), what: masked(what) };
  });
}

interface Change {
  owner: string;
  keys: readonly string[];
  left: unknown;
  right: unknown;
}

function changesBetween(left: unknown, right: unknown, path: readonly string[] = []): Change[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (isPart(left) && isPart(right))
    return keysOf(left, right).flatMap((key) => changesBetween(left[key], right[key], [...path, key]));
  const [section = '', name = '', ...keys] = path;
  return [{ owner: `${section.slice(0, -1)} ${name}`, keys, left, right }];
}

function itemsOnlyIn(list: unknown, other: unknown): unknown[] {
  if (!Array.isArray(list) || !Array.isArray(other)) return [];
  return list.filter((item) => !other.some((each) => isDeepStrictEqual(item, each)));
}

function shownDifference(left: unknown, right: unknown): string {
  const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  if (!Array.isArray(left) || !Array.isArray(right))
    return `is ${shown(left)} in the project, ${shown(right)} in the bundle`;
  const sides = { project: itemsOnlyIn(left, right), bundle: itemsOnlyIn(right, left) };
  const lines = Object.entries(sides).flatMap(([side, items]) =>
    items.length === 0 ? [] : [`${items.map(shown).join(', ')} is only in the ${side}`],
  );
  return lines.length === 0 ? 'has another order in the bundle' : lines.join('; ');
}

/** Keys of services whose values may be shown. */
const openKeys: ReadonlySet<string> = new Set(
  'image ports expose networks depends_on profiles restart user privileged cap_add network_mode volumes deploy'.split(
    ' ',
  ),
);

function keysOf(one: Part, other: Part): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])];
}

/** A text of a bundle's model with the places that its files have in the project. `paths` has bundle paths by these. */
export function placesInProject(
  paths: ReadonlyMap<string, string>,
  { out, root }: { out: string; root: string },
): (text: string) => string {
  const places = new Map([...paths].map(([from, to]) => [to, from]));
  return (text) => {
    if (text !== out && !text.startsWith(`${out}/`)) return text.replaceAll(`${out}/`, `${root}/`);
    const path = text.slice(out.length + 1);
    return posix.resolve(root, places.get(path) ?? path);
  };
}
