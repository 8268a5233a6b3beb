import fc from 'fast-check';
import { seed } from '../../fixtures/seed.ts';
import { gather, Gathered } from './collectBytes.ts';

const pieces = fc.array(
  fc.uint8Array({ maxLength: 900 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 30 },
);
const tooLarge = () => new Error('too large');
const stream = async function* (all: Buffer[]) {
  for (const piece of all) yield await Promise.resolve(piece);
};

describe('gathered bytes', () => {
  it(`come out as they went in, and are left in no piece (SEED=${seed})`, () => {
    const property = fc.property(pieces, (all) => {
      const whole = Buffer.concat(all);
      const gathered = new Gathered();
      for (const piece of all) gathered.add(piece);
      expect(gathered.length).toBe(whole.length);
      expect(gathered.take().equals(whole)).toBe(true);
      expect(gathered.length).toBe(0);
      expect(all.flatMap((piece) => [...piece]).filter((byte) => byte !== 0)).toEqual([]);
    });
    fc.assert(property, { seed });
  });

  it('of a stream are all of them, or none where they are too many', async () => {
    const words = () => stream([Buffer.from('one '), Buffer.from('two')]);
    expect(String(await gather(words(), { maxBytes: 7, tooLarge }))).toBe('one two');
    await expect(gather(words(), { maxBytes: 6, tooLarge })).rejects.toThrow('too large');
  });
});
