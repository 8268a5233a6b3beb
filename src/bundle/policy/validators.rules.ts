import type { PermitKey } from '../../api/hostPolicy.rules.ts';
import { closestMatch, printable } from '../../core/text.rules.ts';
import { type ComposeNode, entriesOf, isText, type Scalar } from '../compose/composeNode.rules.ts';
import {
  type Finding,
  refuse,
  refuseUnpermitted,
  refusePrivilege,
  refuseVariable,
  serviceOf,
  type Validator,
  type ValueLocation,
} from './finding.rules.ts';

/** A validator for each allowed key; a key that is not in the table is refused, except `x-*`. */
export type KeyTable = Readonly<Record<string, Validator>>;

/** A mapping of known keys. */
export function mappingOf(table: KeyTable): Validator {
  const validateEntry = (key: string, value: ComposeNode, location: ValueLocation): Finding[] => {
    if (key.startsWith('x-')) return [];
    const validate = Object.hasOwn(table, key) ? table[key] : undefined;
    return validate ? validate(value, atKey(location, key)) : refuseUnknownKey(value, atKey(location, key), table);
  };
  return oneOfKinds({
    map: (value, location) => entriesOf(value).flatMap(([key, inner]) => validateEntry(key, inner, location)),
  });
}

function refuseUnknownKey(value: ComposeNode, location: ValueLocation, table: KeyTable): Finding[] {
  const [first = '', ...others] = Object.keys(table);
  const written = location.keyPath.slice(location.keyPath.lastIndexOf('.') + 1);
  const cure = `leave it out, the nearest known key is ${closestMatch(written, [first, ...others])}`;
  return refuse(value, location, { message: 'is not a known key', cure });
}

/** A mapping whose keys the bundle chooses; no key may be empty. */
export function mapOf(validate: Validator): Validator {
  return keyedEntries(/./, validate);
}

/** A mapping whose keys are names of services, networks, volumes, configs or secrets. */
export function namedEntries(validate: Validator): Validator {
  return keyedEntries(namePattern, validate);
}

function keyedEntries(pattern: RegExp, validate: Validator): Validator {
  const validateEntry = (key: string, value: ComposeNode, location: ValueLocation): Finding[] =>
    pattern.test(key)
      ? validate(value, atKey(location, key))
      : refuse(value, location, { message: `${printable(key) || '""'} is not a name`, cure: nameCure });
  return oneOfKinds({
    map: (value, location) => entriesOf(value).flatMap(([key, inner]) => validateEntry(key, inner, location)),
  });
}

/** The cure for a name that compose cannot read. */
export const nameCure = 'use letters, digits, ".", "_" and "-"';

/** A list with one validator for all items. */
export function listOf(validate: Validator): Validator {
  return oneOfKinds({ list: ({ items }, location) => items.flatMap((item) => validate(item, location)) });
}

/** The location of the value under a key. */
export function atKey(location: ValueLocation, key: string): ValueLocation {
  return { ...location, keyPath: location.keyPath === '' ? printable(key) : `${location.keyPath}.${printable(key)}` };
}

const kindNames = { scalar: 'text', list: 'a list', map: 'a mapping' } as const;

type KindValidators = {
  [Kind in ComposeNode['kind']]?: (value: Extract<ComposeNode, { kind: Kind }>, location: ValueLocation) => Finding[];
};

/** A value of one of several YAML kinds, each with its own validator; null matches no kind. */
export function oneOfKinds(validators: KindValidators): Validator {
  return (value, location) => {
    if (value.kind === 'map' && validators.map) return validators.map(value, location);
    if (value.kind === 'list' && validators.list) return validators.list(value, location);
    if (isText(value) && validators.scalar) return validators.scalar(value, location);
    const allowed = (['scalar', 'list', 'map'] as const)
      .filter((kind) => validators[kind])
      .map((kind) => kindNames[kind]);
    const kinds = allowed.join(' or ');
    return refuse(value, location, { message: `must be ${kinds}`, cure: `write it as ${kinds}` });
  };
}

/** Allows null as well. */
export function nullable(validate: Validator): Validator {
  return (value, location) => (value.kind === 'scalar' && value.isNull ? [] : validate(value, location));
}

/** A text that is not null, as written in the file. */
export function textValidator(
  validate: (text: string, value: Scalar, location: ValueLocation) => Finding[],
): Validator {
  return oneOfKinds({ scalar: (value, location) => validate(value.text, value, location) });
}

/** Text that grants no privilege, so it may contain or be a variable. */
export function textMatching(pattern: RegExp, expected: string): Validator {
  return textValidator((text, value, location) =>
    text.includes('$') || pattern.test(text)
      ? []
      : refuse(value, location, { message: `${printable(text)} must be ${expected}`, cure: `write ${expected}` }),
  );
}

/** The findings of some validators, up to the first one that finds something. */
export function firstOf(...validators: Validator[]): Validator {
  return (value, location) => {
    for (const validate of validators) {
      const findings = validate(value, location);
      if (findings.length > 0) return findings;
    }
    return [];
  };
}

/** Text without variables, because the agent itself interprets it. */
export function literalMatching(pattern: RegExp, expected: string, cure = `write ${expected}`): Validator {
  return textValidator((text, value, location) =>
    pattern.test(text) && !text.includes('$')
      ? []
      : refuse(value, location, { message: `${printable(text)} must be ${expected}`, cure }),
  );
}

/** Text that is a privilege on the host unless it matches; a variable never matches. */
export function privilegedUnless(harmless: RegExp): Validator {
  return textValidator((text, value, location) => {
    if (text.includes('$')) return refuseVariable(value, location, `${printable(text)} is decided by a variable`);
    return harmless.test(text) ? [] : refusePrivilege(value, location, printable(text));
  });
}

/** Text that is a privilege over the host unless it matches; `entryOf` returns its entry in `policy.permit`. */
export function permitUnless(
  harmless: RegExp,
  permit: PermitKey,
  entryOf: (text: string, location: ValueLocation) => string = (text) => text,
): Validator {
  return textValidator((text, value, location) => {
    if (text.includes('$')) return refuseVariable(value, location, `${printable(text)} is decided by a variable`);
    if (harmless.test(text)) return [];
    return refuseUnpermitted(value, location, { permit, entry: entryOf(text, location), message: printable(text) });
  });
}

/** A privilege that is permitted by the service that has it. */
export function servicePermitUnless(harmless: RegExp, permit: PermitKey): Validator {
  return permitUnless(harmless, permit, (_, location) => serviceOf(location));
}

/** Options, as a mapping or as `name=value` items, that are privileges on the host unless their name matches. */
export function privilegedUnlessNamed(
  harmless: RegExp,
  validate: Validator = text,
  permit: PermitKey | null = null,
): Validator {
  const refuseName = (name: string, value: ComposeNode, location: ValueLocation): Finding[] =>
    permit === null || name.includes('$')
      ? refusePrivilege(value, location, printable(name))
      : refuseUnpermitted(value, location, { permit, entry: name, message: printable(name) });
  const validateItem = textValidator((item, value, location) => {
    const [name = item] = item.split('=', 1);
    return item.includes('=') && harmless.test(name) ? [] : refuseName(name, value, location);
  });
  const validateEntries: Validator = (value, location) =>
    entriesOf(value).flatMap(([name, inner]) =>
      harmless.test(name) ? validate(inner, atKey(location, name)) : refuseName(name, inner, location),
    );
  return oneOfKinds({ list: listOf(validateItem), map: validateEntries });
}

/** Anything but an empty list or mapping is reported, each item of a list by itself. */
export function anyValue(
  report: (value: ComposeNode, location: ValueLocation, message: string) => Finding[],
): Validator {
  return function validate(value: ComposeNode, location: ValueLocation): Finding[] {
    if (value.kind === 'list') return value.items.flatMap((item) => validate(item, location));
    if (value.kind === 'map') return value.entries.size === 0 ? [] : report(value, location, '');
    return report(value, location, printable(value.text));
  };
}

/** Anything but an empty list or mapping is a privilege on the host. */
export const privileged: Validator = anyValue(refusePrivilege);

/** Names with texts, as a mapping or as `NAME=text` items; `validateName` checks each name. */
export function namedValues(
  validateName: (name: string, value: ComposeNode, location: ValueLocation) => Finding[],
): Validator {
  return oneOfKinds({
    list: listOf(
      textValidator((item, value, location) => validateName(item.split('=', 1)[0] ?? item, value, location)),
    ),
    map: (value, location) =>
      entriesOf(value).flatMap(([name, inner]) => [
        ...validateName(name, inner, location),
        ...nullable(text)(inner, atKey(location, name)),
      ]),
  });
}

/** A key that is always refused; `why` and `cure`, what to write instead, are shown to the operator. */
export function forbidden(why: string, cure: string): Validator {
  return (value, location) => refuse(value, location, { message: `is refused: ${why}`, cure });
}

export const text: Validator = textValidator(() => []);
export const booleanText: Validator = textMatching(/^(true|false|yes|no|on|off|y|n)$/i, 'true or false');
export const numberText: Validator = textMatching(/^[-+]?(\d[\d_]*(\.\d*)?|\.\d+|0x[\da-f]+|0o[0-7]+)$/i, 'a number');
/** Values that YAML reads as a number or as true or false, if they are not in quotes. */
const noString = /^([-+]?(\d[\d_]*(\.\d*)?|\.\d+)(e[-+]?\d+)?|[-+]?0(x[\da-f_]+|o?[0-7_]+|b[01_]+)|true|false)$/i;

/** A text that compose takes as a string only. The rendered model, whose lines are 0, has been through compose. */
export const string: Validator = textValidator((written, value, location) =>
  value.isQuoted || value.line === 0 || !noString.test(written)
    ? []
    : refuse(value, location, { message: `${printable(written)} must be a string`, cure: 'put it in quotes' }),
);
export const textList: Validator = listOf(string);
export const textOrList: Validator = oneOfKinds({ scalar: string, list: textList });
/** The names that compose accepts for a service, network, volume, config or secret. */
export const namePattern = /^[a-zA-Z0-9._-]+$/;
/** Names that refer to another part of the file: the agent follows them, so they are literal. */
export const literalName: Validator = literalMatching(
  namePattern,
  'a literal name of letters, digits, ".", "_" and "-"',
);
/** The values that compose reads as "no". */
export const isFalse = /^(false|no|off|n)$/i;
/** A privilege unless compose reads the text as "no"; a variable counts as "yes". */
export const privilegedUnlessFalse: Validator = privilegedUnless(isFalse);
