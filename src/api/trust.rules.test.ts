import { maxSignatureListBytes, parseSignatureList, signatureLimits, signaturesTooLarge } from './trust.rules.ts';

const { count, bytes } = signatureLimits;
/** JSON text of `{"a":""}` is 8 bytes. */
const ofBytes = (size: number) => ({ a: 'x'.repeat(size - 8) });
const refusedFor = (reason: string) =>
  expect.objectContaining({ ending: 'refused', message: `refused: SIGNATURE_REFUSED: ${reason}` }) as Error;

it('gives the signatures as they are', () => {
  const signatures = Array.from({ length: count }, () => ofBytes(bytes));
  expect(parseSignatureList(signatures)).toBe(signatures);
  expect(maxSignatureListBytes).toBe(Buffer.byteLength(`${JSON.stringify(signatures)}\n`));
  expect(parseSignatureList([])).toEqual([]);
});

it.each<[string, unknown, string]>([
  ['an object', {}, 'the answer of the tenancy service is not a list of signatures'],
  ['no JSON', undefined, 'the answer of the tenancy service is not a list of signatures'],
  ['too many', Array(count + 1).fill({}), `the answer of the tenancy service has more than ${count} signatures`],
  ['a large one', [{}, ofBytes(bytes + 1)], `signature 2 has more than ${bytes} bytes`],
  [
    'one that is nested without end',
    [JSON.parse(`${'{"1":'.repeat(1e5)}1${'}'.repeat(1e5)}`)],
    `signature 1 has more than ${bytes} bytes`,
  ],
])('refuses %s', (_what, json, reason) => {
  expect(() => parseSignatureList(json)).toThrow(refusedFor(reason));
});

it('reports the bound of the whole answer', () => {
  expect(signaturesTooLarge()).toEqual(
    refusedFor(`the answer of the tenancy service is larger than ${count} signatures of ${bytes} bytes`),
  );
});
