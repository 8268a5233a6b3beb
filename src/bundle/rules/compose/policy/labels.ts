import { characterFault } from '../document/envFileText.ts';
import { printable } from '../../../../protocol/printable.ts';
import { encodingFault, saveAsUtf8 } from '../../../../protocol/textEncoding.ts';
import { refuse, type Finding, type Validator, type ValueLocation } from './finding.ts';
import { bundleFile, locatePath } from './bundlePaths.ts';
import { oneOfKinds, listOf, textValidator, namedValues } from './validators.ts';
import type { ComposeNode } from '../document/composeNode.ts';

/** Labels by which compose and the agent identify their containers, networks and volumes. */
const reservedLabel = /^(com\.docker\.compose|deployd)(\.|$)/;

/** Labels as a mapping or as `name=value` items. */
export const labels: Validator = namedValues(validateLabelName);

function validateLabelName(name: string, value: ComposeNode, location: ValueLocation): Finding[] {
  if (reservedLabel.test(name))
    return refuse(value, location, {
      message: `${printable(name)} belongs to compose or deployd`,
      cure: 'give it another name',
    });
  const isLiteral = name !== '' && !name.replaceAll('$$', '').includes('$');
  return isLiteral
    ? []
    : refuse(value, location, { message: `${printable(name)} must be a literal name`, cure: 'write the name out' });
}

/** A value in quotes has no escapes, which not all parsers read alike. */
const isLabelLine = /^[A-Za-z0-9._/-]+=([^'"`$]*|"[^"`$\\]*"[ \t]*|'[^'`$\\]*'[ \t]*)$/;

const linesCure = 'write its labels under labels';

/** `label_file`: files of the bundle; every label in them is validated too. */
const labelFile = textValidator((source, value, location) => {
  const file = locatePath(source, location.facts);
  if (file.kind !== 'file') return bundleFile(value, location);
  const content = location.facts.texts?.get(file.path);
  if (content === undefined)
    return refuse(value, location, { message: `${printable(source)} could not be read`, cure: linesCure });
  const encoding = encodingFault(content);
  if (encoding !== null)
    return refuse(value, location, { message: `${printable(source)} ${encoding}`, cure: saveAsUtf8 });
  const lines = content.split(/\r?\n/).filter((line) => !/^\s*(#|$)/.test(line));
  return lines.flatMap((line) =>
    isLabelLine.test(line) && characterFault(line) === null
      ? validateLabelName(line.split('=', 1)[0] ?? line, value, location)
      : refuse(value, location, {
          message: `${printable(source)} has a line that is not NAME=VALUE without variables or controls`,
          cure: linesCure,
        }),
  );
});

export const labelFiles: Validator = oneOfKinds({ scalar: labelFile, list: listOf(labelFile) });
