/** A kind of value: its JSON schema, and the words that tell an operator what is allowed. */
export interface Kind {
  schema: { type: string } & Readonly<Record<string, unknown>>;
  allowed: string;
}

/** `true` or `false`, in YAML 1.2 only these two words. */
export const yesNo: Kind = { schema: { type: 'boolean' }, allowed: 'true or false' };

/** An environment id, which also names directories and the compose project. */
export const envId: Kind = {
  schema: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
  allowed: '1 to 63 lower-case letters, digits and hyphens, the first not a hyphen',
};

/** A name of one line without blanks around it. */
export const name: Kind = {
  schema: { type: 'string', pattern: '^(?! )[^\\p{Cc}]{1,253}(?<! )$' },
  allowed: 'a name of 1 to 253 characters in one line',
};

/** An absolute path. */
export const path: Kind = {
  schema: { type: 'string', pattern: '^/[^\\p{Cc}]*$' },
  allowed: 'an absolute path',
};

/** Several absolute paths. */
export const paths: Kind = {
  schema: { type: 'array', items: path.schema, uniqueItems: true },
  allowed: 'a list of absolute paths, none twice',
};

/** The word `auto` or an absolute path. */
export const autoOrPath: Kind = {
  schema: { type: 'string', pattern: '^(auto|/[^\\p{Cc}]*)$' },
  allowed: '`auto` or an absolute path',
};

/** The address of the container engine's socket. */
export const socket: Kind = {
  schema: { type: 'string', pattern: '^unix:///[^\\p{Cc}]+$' },
  allowed: '`unix://` and the absolute path of a socket',
};

/** The base address of a service. */
export const url: Kind = {
  schema: { type: 'string', format: 'service-url' },
  allowed: 'an https:// URL without credentials, query and fragment',
};

/** One of a few words. */
export function oneOf(...words: string[]): Kind {
  return { schema: { type: 'string', enum: words }, allowed: `one of ${words.join(', ')}` };
}

/** A whole number within bounds, both included; without `max`, the largest exact integer bounds it. */
export function whole(unit: string, min: number, max?: number): Kind {
  return {
    schema: { type: 'integer', minimum: min, maximum: max ?? Number.MAX_SAFE_INTEGER },
    allowed: `a whole number${unit && ` of ${unit}`}${max === undefined ? `, ${min} or more` : ` from ${min} to ${max}`}`,
  };
}

/** The same kind, or nothing at all. */
export function orNothing({ schema, allowed }: Kind): Kind {
  return { schema: { ...schema, nullable: true }, allowed };
}

/** Whether text is a base address as `url` allows it; `http:` is judged by its transport elsewhere. */
export function isServiceUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/.test(text) && URL.canParse(text);
}
