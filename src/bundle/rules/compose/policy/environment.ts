import { variablesOf } from '../document/interpolation.ts';
import { parseEnvAssignments, rawEnvFault } from '../document/envFileText.ts';
import { printable } from '../../../../protocol/printable.ts';
import { encodingFault, saveAsUtf8 } from '../../../../protocol/textEncoding.ts';
import { refuse, type Finding, type Validator, type ValueLocation } from './finding.ts';
import { composeLimits } from '../limits/composeLimits.ts';
import { bundleFile, locatePath } from './bundlePaths.ts';
import {
  oneOfKinds,
  booleanText,
  isFalse,
  mappingOf,
  listOf,
  literalMatching,
  textValidator,
  namedValues,
} from './validators.ts';
import { valueAt, textOf, type ComposeNode } from '../document/composeNode.ts';

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
