import { falseFieldOf, judgeClaims, signatureRefusal, signersOf } from './judgement.rules.ts';

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

it('reports only the false claims of several signatures', () => {
  const verified = [
    { signer: 'a', claim },
    { signer: 'b', claim: { ...claim, env: 'eu-2' } },
  ];
  expect(judgeClaims({ verified, faults: [] }, claim, 2).refusal?.detail).toBe(
    "only a signed, and signatures by 2 of trust.bundles must be; b signed another env than the manifest's",
  );
  expect(judgeClaims({ verified, faults: [] }, claim, 1)).toEqual({ signers: ['a'], refusal: null });
});

const verdict = { threshold: 1, signers: [], count: 0, faults: [] };

it.each([
  [verdict, 'there is no signature, and a signature by one of trust.bundles must be'],
  [
    { ...verdict, count: 1, faults: ['signature 1: it is of another archive'] },
    'nobody who is trusted has signed, and a signature by one of trust.bundles must be; signature 1: it is of another archive',
  ],
  [
    { ...verdict, threshold: 2, count: 2, signers: ['key SHA256:a'] },
    'only key SHA256:a signed, and signatures by 2 of trust.bundles must be',
  ],
  [
    { ...verdict, threshold: 3, count: 2, signers: ['a', 'b'] },
    'only a, b signed, and signatures by 3 of trust.bundles must be',
  ],
])('%j', (given, detail) => {
  expect(signatureRefusal(given)).toEqual({ code: 'SIGNATURE_REFUSED', detail });
});

it('accepts as many signers as are demanded, whatever else there is', () => {
  expect(signatureRefusal({ threshold: 2, signers: ['a', 'b'], count: 3, faults: ['signature 3: x'] })).toBeNull();
});

it('reports ten faults, and the number of further ones', () => {
  const faults = Array.from({ length: 12 }, (_, at) => `signature ${at + 1}: x`);
  const detailOf = (count: number) => signatureRefusal({ ...verdict, count, faults: faults.slice(0, count) })?.detail;
  expect(detailOf(12)).toMatch(/; signature 10: x; and 2 more$/);
  expect(detailOf(10)).toMatch(/; signature 10: x$/);
});
