import { refuse, shown, type Finding, type Judge, type Place } from './finding.ts';
import { bundleFile } from './paths.ts';
import { either, flag, keys, list, pairs, text } from './shapes.ts';
import type { Tree } from './tree.ts';

/**
 * `environment`, as a mapping or as `NAME=value` items. A name alone takes its value from the agent's variables, so names
 * are always literal.
 */
export const environment: Judge = pairs(judgeName);

function judgeName(name: string, value: Tree, place: Place): Finding[] {
  return /^[^\s=$]+$/.test(name) ? [] : refuse(value, place, `${shown(name)} must be a literal name`);
}

const entry = keys({ path: bundleFile, required: flag, format: text });
const listed: Judge = either({ scalar: bundleFile, map: entry });

/** `env_file`: files of the bundle, even those that are not required. */
export const envFiles: Judge = either({ scalar: bundleFile, list: list(listed) });
