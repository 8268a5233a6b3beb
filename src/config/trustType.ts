import type { TrustSettings } from '../protocol/trustSettings.ts';
import type { KeyProblem } from './configInvalid.ts';
import { formatParts, type ValueType } from './valueTypes.ts';

const maxEntries = 64;
const visible = { type: 'string', pattern: '^(?! )[^\\p{C}]{1,253}(?<! )$' };

const identities = {
  type: 'array',
  maxItems: maxEntries,
  uniqueItems: true,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['issuer', 'subject'],
    properties: { issuer: visible, subject: visible },
  },
};

/** A mapping of the keys of `TrustSettings`, or null; its files are named by paths of a type. */
export function trustBy(path: ValueType): ValueType {
  const threshold = { type: 'integer', minimum: 1, maximum: 2 * maxEntries };
  const keys = { type: 'array', items: path.schema, maxItems: maxEntries, uniqueItems: true };
  const properties = { threshold, keys, identities, root: path.schema };
  const parts = {
    threshold: `a whole number of signers, from 1 to ${2 * maxEntries}`,
    keys: `a list of at most ${maxEntries} PEM files, each ${path.allowed}`,
    identities: `a list of at most ${maxEntries} of {issuer, subject}`,
    root: path.allowed,
  };
  return {
    schema: { type: 'object', nullable: true, additionalProperties: false, properties },
    allowed: `a mapping with the keys ${formatParts(parts)}`,
    parts,
  };
}

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
