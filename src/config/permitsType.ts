import { permitKeys, policyBounds, type PermitKey } from '../protocol/hostPolicy.ts';
import type { ValueType } from './valueTypes.ts';

/** An absolute path without `.`, `..`, empty parts and a slash at the end; `*` and a last `**` are wildcards. */
const pathPattern = String.raw`/(?!\.{0,2}(/|$|:ro$))[^\p{Cc}/:]+(/(?!\.{0,2}(/|$|:ro$))[^\p{Cc}/:]+)*`;

const patterns: Partial<Record<PermitKey, string>> = {
  binds: `^(/\\*\\*|${pathPattern})(:ro)?$`,
  devices: `^/dev${pathPattern}$`,
  capabilities: '^(?!CAP_|ALL$)[A-Z_]{1,64}$',
};

/** `policy.permit`: for each kind of power a list of what is permitted. */
export const permits: ValueType = {
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      permitKeys.map((key) => [key, entriesMatching(patterns[key] ?? '^[^\\p{Cc}\\s]+$')]),
    ),
  },
  allowed:
    `a mapping with the keys ${permitKeys.join(', ')}, each a list of at most 64 entries of 253 characters: of absolute paths without "..", with :ro for reading alone (binds), ` +
    'of device files (devices), of capabilities without CAP_ (capabilities), else of names',
};

function entriesMatching(pattern: string): object {
  const { entries: maxItems, characters: maxLength } = policyBounds;
  return { type: 'array', items: { type: 'string', pattern, maxLength }, maxItems, uniqueItems: true };
}
