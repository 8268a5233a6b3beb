import { judgeClaims } from './judgeClaims.ts';
import { falseFieldOf, signersOf } from './signersOf.ts';

const claim = { name: 'shop', env: 'eu-1', version: '1.2', sequence: 3 };

it.each(['name', 'env', 'version', 'sequence'] as const)('a claim of another %s is false', (field) => {
  expect(falseFieldOf({ ...claim, [field]: 'other' }, claim)).toBe(field);
  expect(signersOf([{ signer: 'a', claim: { ...claim, [field]: 'other' } }], claim)).toEqual([]);
});

it('counts a signer once, however often he signed', () => {
  const by = (signer: string) => ({ signer, claim });
  expect(falseFieldOf(claim, { ...claim })).toBeNull();
  expect(signersOf([by('b'), by('a'), by('b')], claim)).toEqual(['a', 'b']);
});

it('of several signatures only the claims that are false are told', () => {
  const verified = [
    { signer: 'a', claim },
    { signer: 'b', claim: { ...claim, env: 'eu-2' } },
  ];
  expect(judgeClaims({ verified, faults: [] }, claim, 2).refusal?.detail).toBe(
    "only a signed, and signatures by 2 of trust.bundles must be; b signed another env than the manifest's",
  );
  expect(judgeClaims({ verified, faults: [] }, claim, 1)).toEqual({ signers: ['a'], refusal: null });
});
