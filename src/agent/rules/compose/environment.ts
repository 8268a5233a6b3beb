import { variablesOf } from './uses.ts';
import { envLinesOf, rawFaultOf } from './envText.ts';
import { printable } from '../../../protocol/printable.ts';
import { refuse, type Finding, type Judge, type Place } from './finding.ts';
import { limits } from './limits.ts';
import { bundleFile, locate } from './paths.ts';
import { either, flag, keys, list, literal, onText, pairs } from './shapes.ts';
import { at, textOf, type Tree } from './tree.ts';

/**
 * `environment`, as a mapping or as `NAME=value` items. A name alone takes its value from the agent's variables, so names
 * are always literal.
 */
export const environment: Judge = pairs(judgeName);

function judgeName(name: string, value: Tree, place: Place): Finding[] {
  return /^[^\s=$\p{Cc}]+$/u.test(name) ? [] : refuse(value, place, `${printable(name)} must be a literal name`);
}

/** A file of the bundle whose text holds nothing that comes from compose's own environment. */
function envFile(faultOf: (text: string) => string | null): Judge {
  return onText((source, value, place) => {
    const location = locate(source, place.facts);
    if (location.kind !== 'file') return bundleFile(value, place);
    const content = place.facts.texts?.get(location.path);
    const fault = content === undefined ? 'could not be read' : (lengthFaultOf(content) ?? faultOf(content));
    return fault === null ? [] : refuse(value, place, `${printable(source)} ${fault}`);
  });
}

function lengthFaultOf(content: string): string | null {
  return content.trimEnd().split('\n').length > limits.envLines ? `has more than ${limits.envLines} lines` : null;
}

function plainFaultOf(text: string): string | null {
  const { lines, fault } = envLinesOf(text);
  return fault ?? lines.map(({ template }) => variablesOf(template).error).find((error) => error !== undefined) ?? null;
}

const plain = envFile(plainFaultOf);
const raw = envFile(rawFaultOf);
const format = literal(/^raw$/, 'raw, or left out');
const entry: Judge = (value, place) => {
  const path = textOf(at(value, 'format')) === 'raw' ? raw : plain;
  return keys({ path, required: flag, format })(value, place);
};
const listed: Judge = either({ scalar: plain, map: entry });

/** `env_file`: files of the bundle, even those that are not required. */
export const envFiles: Judge = either({ scalar: plain, list: list(listed) });
