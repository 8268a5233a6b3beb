import { type BundleTrust, readPublicKey } from '../../signatures/trust.ts';

/** What is wrong with a trust: keys that nothing can be verified by, too few who could sign, and identities without a root. */
export function trustFaults({ threshold, keys, identities, root }: BundleTrust): string[] {
  const read = keys.map(readPublicKey);
  const unusable = read.flatMap((key, index) => (typeof key === 'string' ? [`keys.${index} ${key}`] : []));
  const different = new Set(read.flatMap((key) => (typeof key === 'string' ? [] : [key.hint])));
  const holders = new Set(identities.map(({ issuer, subject }) => JSON.stringify([issuer, subject])));
  const signers = different.size + holders.size;
  const repeated = read.length - unusable.length > different.size || identities.length > holders.size;
  return [
    ...unusable,
    ...(repeated ? ['a key or an identity stands there twice'] : []),
    ...(unusable.length === 0 && threshold > signers
      ? [`threshold ${threshold} cannot be met: there are ${signers} who can sign`]
      : []),
    ...(identities.length > 0 && root === null ? ['identities need a root, by which they are verified'] : []),
  ];
}
