import { type TSchema, Type } from 'typebox';

/** A type of value: its schema, and the text about allowed values for operators. */
export interface ValueType<Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  readonly allowed: string;
  /** Of a mapping, or of the mappings in a list, with keys of several types: what is allowed for each. */
  readonly parts?: Readonly<Record<string, string>>;
}

/** `true` or `false`; YAML 1.2 has no other booleans. */
export const trueOrFalse = { schema: Type.Boolean(), allowed: 'true or false' };

/** An env id; directories and the compose project are named after it. */
export const envId = textLike(
  '^[a-z0-9][a-z0-9-]{0,62}$',
  '1 to 63 lower-case letters, digits and hyphens, the first not a hyphen',
);

/** A name in one line, without leading or trailing blanks. */
export const singleLineName = textLike('^(?! )[^\\p{Cc}]{1,253}(?<! )$', 'a name of 1 to 253 characters in one line');

/** An absolute path. */
export const absolutePath = textLike('^/[^\\p{Cc}]*$', 'an absolute path');

/** A path, absolute or relative to the file that names it. */
export const anyPath = textLike('^[^\\p{Cc}]+$', 'a path');

/** A list of absolute paths without duplicates. */
export const absolutePaths = {
  schema: Type.Array(absolutePath.schema, { uniqueItems: true }),
  allowed: 'a list of absolute paths, none twice',
};

/** The word `auto` or an absolute path. */
export const autoOrPath = textLike('^(auto|/[^\\p{Cc}]*)$', '`auto` or an absolute path');

/** The address of the container engine's socket. */
export const socketUrl = textLike('^unix:///[^\\p{Cc}]+$', '`unix://` and the absolute path of a socket');

/** The pattern of a port, from 1 to 65535. */
export const portPattern = '([1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';

/** Where a program listens for callers of its own host. */
export const loopbackListener = textLike(
  `^(http://(127\\.0\\.0\\.1|\\[::1\\]):${portPattern}|unix:///[^\\p{Cc}]+)$`,
  '`http://127.0.0.1:PORT`, `http://[::1]:PORT`, or `unix://` and the absolute path of a socket',
);

/** The base address of a service. */
export const serviceUrl = {
  schema: Type.String({ format: 'service-url' }),
  allowed: 'an https:// URL without credentials, query and fragment',
};

/** A text that matches a pattern. */
export function textLike(pattern: string, allowed: string) {
  return { schema: Type.String({ pattern }), allowed };
}

/** The parts of a type for a list of its keys. */
export function formatParts(parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts)
    .map(([key, allowed]) => `${key} (${allowed})`)
    .join(', ');
}

/** One of a few words. */
export function oneOf<Word extends string>(...words: Word[]) {
  return { schema: Type.Enum(words), allowed: `one of ${words.join(', ')}` };
}

/** A list of a few words, none twice. */
export function listOfWords<Word extends string>(...words: Word[]) {
  return {
    schema: Type.Array(Type.Enum(words), { uniqueItems: true }),
    allowed: `a list of ${words.join(', ')}, none twice`,
  };
}

/** An integer from `min` to `max`, both included; `max` defaults to the largest safe integer. */
export function integer(unit: string, min: number, max?: number) {
  return {
    schema: Type.Integer({ minimum: min, maximum: max ?? Number.MAX_SAFE_INTEGER }),
    allowed: `a whole number${unit && ` of ${unit}`}${max === undefined ? `, ${min} or more` : ` from ${min} to ${max}`}`,
  };
}

/** The same type, or null. */
export function nullable<Schema extends TSchema>({ schema, ...rest }: ValueType<Schema>) {
  return { ...rest, schema: Type.Union([schema, Type.Null()]) };
}
