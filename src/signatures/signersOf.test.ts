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
