import type { TrustSettings } from '../protocol/trustSettings.ts';
import type { KeyProblem } from './configInvalid.ts';
import { absolutePath, type ValueType } from './valueTypes.ts';

const maxEntries = 64;
const visible = { type: 'string', pattern: '^(?! )[^\\p{C}]{1,253}(?<! )$' };

/** A mapping of the keys of `TrustSettings`, or null. */
export const trust: ValueType = {
  schema: {
    type: 'object',
    nullable: true,
    additionalProperties: false,
    properties: {
      threshold: { type: 'integer', minimum: 1, maximum: 2 * maxEntries },
      keys: { type: 'array', items: absolutePath.schema, maxItems: maxEntries, uniqueItems: true },
      identities: {
        type: 'array',
        maxItems: maxEntries,
        uniqueItems: true,
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['issuer', 'subject'],
          properties: { issuer: visible, subject: visible },
        },
      },
      root: absolutePath.schema,
    },
  },
  allowed:
    `a mapping with the keys threshold (how many signers, from 1), keys (at most ${maxEntries} absolute paths of PEM files), ` +
    `identities (at most ${maxEntries} of {issuer, subject}) and root (an absolute path)`,
};

/** What contradicts itself in a trust: nobody, or too few, who could sign, and identities that nothing can verify. */
export function trustProblems(key: string, settings: TrustSettings | null | undefined): KeyProblem[] {
  if (!settings) return [];
  const { threshold = 1, keys = [], identities = [], root } = settings;
  const signers = keys.length + identities.length;
  const problems = [
    ...(signers === 0 ? ['must name keys or identities, or be left out'] : []),
    ...(signers > 0 && threshold > signers
      ? [`must have a threshold that can be met: it is ${threshold}, and ${signers} can sign`]
      : []),
    ...(identities.length > 0 && root === undefined
      ? ['must name the trust root (root) by which its identities are verified']
      : []),
  ];
  return problems.map((message) => ({ key, message }));
}
