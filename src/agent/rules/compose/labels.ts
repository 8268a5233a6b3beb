import { isControlled } from './envText.ts';
import { printable } from '../../../protocol/printable.ts';
import { refuse, type Finding, type Judge, type Place } from './finding.ts';
import { bundleFile, locate } from './paths.ts';
import { either, list, onText, pairs } from './shapes.ts';
import type { Tree } from './tree.ts';

/** Labels by which compose and the agent find what is theirs. */
const reserved = /^(com\.docker\.compose|deployd)(\.|$)/;

/** Labels as a mapping or as `name=value` items. */
export const labels: Judge = pairs(judgeName);

function judgeName(name: string, value: Tree, place: Place): Finding[] {
  if (reserved.test(name)) return refuse(value, place, `${printable(name)} belongs to compose or deployd`);
  return name === '' || name.includes('$') ? refuse(value, place, `${printable(name)} must be a literal name`) : [];
}

/** `label_file`: files of the bundle whose every label is judged too. */
const labelFile = onText((source, value, place) => {
  const location = locate(source, place.facts);
  if (location.kind !== 'file') return bundleFile(value, place);
  const content = place.facts.texts?.get(location.path);
  if (content === undefined) return refuse(value, place, `${printable(source)} could not be read`);
  const lines = content.split(/\r?\n/).filter((line) => !/^\s*(#|$)/.test(line));
  return lines.flatMap((line) =>
    /^[A-Za-z0-9._/-]+=[^'"`$]*$/.test(line) && !isControlled(line)
      ? judgeName(line.split('=', 1)[0] ?? '', value, place)
      : refuse(
          value,
          place,
          `${printable(source)} has a line that is not NAME=VALUE without quotes, variables or controls`,
        ),
  );
});

export const labelFiles: Judge = either({ scalar: labelFile, list: list(labelFile) });
