import fc from 'fast-check';
import { seed } from '../../fixtures/world/sampling/seed.ts';
import { ByteCollector, collectBytes } from './streams.ts';

const chunks = fc.array(
  fc.uint8Array({ maxLength: 900 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 30 },
);
const tooLarge = () => new Error('too large');
const stream = async function* (all: Buffer[]) {
  for (const chunk of all) yield await Promise.resolve(chunk);
};

describe('collected bytes', () => {
  it(`are returned unchanged, and every chunk is wiped (SEED=${seed})`, () => {
    const property = fc.property(chunks, (all) => {
      const whole = Buffer.concat(all);
      const collector = new ByteCollector();
      for (const chunk of all) collector.add(chunk);
      expect(collector.length).toBe(whole.length);
      expect(collector.take().equals(whole)).toBe(true);
      expect(collector.length).toBe(0);
      expect(all.flatMap((chunk) => [...chunk]).filter((byte) => byte !== 0)).toEqual([]);
    });
    fc.assert(property, { seed });
  });

  it('of a stream are complete, or the stream is rejected as too large', async () => {
    const words = () => stream([Buffer.from('one '), Buffer.from('two')]);
    expect(String(await collectBytes(words(), { maxBytes: 7, tooLarge }))).toBe('one two');
    await expect(collectBytes(words(), { maxBytes: 6, tooLarge })).rejects.toThrow('too large');
  });
});
