import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type AppliedEffect, applyEffect, type ImportReport, masked, type Reported } from './importWork.rules.ts';
import { isPart, mapTexts, type Model, type Part, sections, withoutAdditions } from './model.rules.ts';

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
 * Applies an effect, and returns what it changes although its row in the report does not name it: by its place, or by a
 * word for another key of the same part, or for a new part.
 */
export function unnamedChanges(model: Model, applied: AppliedEffect): Difference[] {
  const before = mapTexts(model, (text) => text) as Model;
  applyEffect(model, applied);
  const words = new Set(applied.what.split(/[\s,;:]+/));
  const paths = changedPaths(before, model);
  const ofMounts = paths.filter(([section, , key]) => section === 'services' && key === 'volumes');
  return paths.flatMap((path) => {
    const [section = '', name = '', ...keys] = path;
    const [owner, key] = [`${section.slice(0, -1)} ${name}`, keys.join('.')];
    const isOwn = owner === applied.owner;
    const isAtPlace = isOwn && `${key}.`.startsWith(`${applied.key}.`) && ofMounts.indexOf(path) < 1;
    const isNew = !(name in before[section as keyof Model]);
    const isNamed = isAtPlace || ((isOwn || isNew) && words.has(isOwn ? (keys[0] ?? '') : name));
    return isNamed ? [] : [{ owner, key, what: `is changed, and the report says only: ${applied.what}` }];
  });
}

/** Paths at which two values differ, as deep as both have mappings; that of a list once for each item that it loses. */
function changedPaths(left: unknown, right: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (isPart(left) && isPart(right))
    return keysOf(left, right).flatMap((key) => changedPaths(left[key], right[key], [...path, key]));
  const isKept = (item: unknown) => Array.isArray(right) && right.some((other) => isDeepStrictEqual(item, other));
  const lost = Array.isArray(left) ? left.filter((item) => !isKept(item)) : [];
  return [path, ...lost.slice(1).map(() => [...path])];
}

function isPartOf(key: string, reported: string): boolean {
  return `${key}.`.startsWith(`${reported}.`) || `${reported}.`.startsWith(`${key}.`);
}

/** Each difference between two models, as deep as both have mappings. */
export function differencesOf(one: Model, other: Model): Difference[] {
  return sections.flatMap((section) =>
    keysOf(one[section], other[section]).flatMap((name) => {
      const owner = `${section.slice(0, -1)} ${name}`;
      const [left, right] = [one[section][name], other[section][name]];
      return left === undefined || right === undefined
        ? [{ owner, key: '', what: `is only in the ${left === undefined ? 'bundle' : 'project'}` }]
        : partDifferences([left, right], owner, []);
    }),
  );
}

function partDifferences([left, right]: [unknown, unknown], owner: string, path: readonly string[]): Difference[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (isPart(left) && isPart(right))
    return keysOf(left, right).flatMap((key) => partDifferences([left[key], right[key]], owner, [...path, key]));
  const what = openKeys.has(path[0] ?? '') ? shownDifference(left, right) : 'differs from the project';
  return [{ owner, key: path.join('.'), what: masked(what) }];
}

function shownDifference(left: unknown, right: unknown): string {
  const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  if (!Array.isArray(left) || !Array.isArray(right))
    return `is ${shown(left)} in the project, ${shown(right)} in the bundle`;
  const without = (one: unknown[], others: unknown[]) =>
    one.filter((item) => !others.some((other) => isDeepStrictEqual(item, other)));
  const sides = { project: without(left, right), bundle: without(right, left) };
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
