import { encodingFault, printable, saveAsUtf8 } from '../../core/text.rules.ts';
import { type ComposeNode, textOf, valueAt } from '../compose/composeNode.rules.ts';
import { characterFault, parseEnvAssignments, rawEnvFault, variablesOf } from '../compose/variables.rules.ts';
import { bundleFile, locatePath } from './bundlePaths.rules.ts';
import { type Finding, refuse, type Validator, type ValueLocation } from './finding.rules.ts';
import { composeLimits } from './limits.rules.ts';
import {
  booleanText,
  isFalse,
  listOf,
  literalMatching,
  mappingOf,
  namedValues,
  oneOfKinds,
  textValidator,
} from './validators.rules.ts';

/**
 * `environment`, as a mapping or as `NAME=value` items. A name without a value takes it from the agent's environment,
 * so names are always literal.
 */
export const environment: Validator = namedValues(validateName);

function validateName(name: string, value: ComposeNode, location: ValueLocation): Finding[] {
  return /^[^\s=$\p{Cc}]+$/u.test(name)
    ? []
    : refuse(value, location, { message: `${printable(name)} must be a literal name`, cure: 'write the name out' });
}

/** A file of the bundle; `faultOf` makes sure that nothing in it comes from compose's own environment. */
function envFileValidator(faultOf: (text: string) => string | null): Validator {
  return textValidator((source, value, location) => {
    const file = locatePath(source, location.facts);
    if (file.kind !== 'file') return bundleFile(value, location);
    const content = location.facts.texts?.get(file.path);
    const encoding = encodingFault(content ?? '');
    if (encoding !== null)
      return refuse(value, location, { message: `${printable(source)} ${encoding}`, cure: saveAsUtf8 });
    const fault = content === undefined ? 'could not be read' : (lineCountFault(content) ?? faultOf(content));
    const cure = 'write each of its lines as NAME=VALUE and a dollar sign as $$';
    return fault === null ? [] : refuse(value, location, { message: `${printable(source)} ${fault}`, cure });
  });
}

function lineCountFault(content: string): string | null {
  return content.trimEnd().split('\n').length > composeLimits.envLines
    ? `has more than ${composeLimits.envLines} lines`
    : null;
}

function interpolatedEnvFault(text: string): string | null {
  const { lines, fault } = parseEnvAssignments(text);
  return fault ?? lines.map(({ template }) => variablesOf(template).error).find((error) => error !== undefined) ?? null;
}

const interpolatedEnvFile = envFileValidator(interpolatedEnvFault);
const rawEnvFile = envFileValidator(rawEnvFault);
const formatKey = literalMatching(/^raw$/, 'raw, or left out');
const envFileEntry: Validator = (value, location) => {
  const named = textOf(valueAt(value, 'format')) === 'raw' ? rawEnvFile : interpolatedEnvFile;
  const isOptional = isFalse.test(textOf(valueAt(value, 'required')) ?? '');
  const path: Validator = (one, at) => (isOptional && isAbsent(one, at) ? [] : named(one, at));
  return mappingOf({ path, required: booleanText, format: formatKey })(value, location);
};
const envFileItem: Validator = oneOfKinds({ scalar: interpolatedEnvFile, map: envFileEntry });

/** A file that the bundle does not have, so that compose does without it when it is optional. */
function isAbsent(path: ComposeNode, { facts }: ValueLocation): boolean {
  return locatePath(textOf(path) ?? '', facts).kind === 'absent';
}

/** `env_file`: each file must be in the bundle, but for one with `required: false`. */
export const envFiles: Validator = oneOfKinds({ scalar: interpolatedEnvFile, list: listOf(envFileItem) });

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
