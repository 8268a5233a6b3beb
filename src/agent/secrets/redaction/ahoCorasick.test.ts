import fc from 'fast-check';
import { AhoCorasick } from './ahoCorasick.ts';
import { withCodeUnits } from './codeUnits.ts';

/** Every position where a word ends, with the length of the longest one, by brute force. */
function bruteForceSearch(words: string[], text: string): [number, number][] {
  const ends: [number, number][] = [];
  for (let end = 1; end <= text.length; end++) {
    const lengths = words.filter((word) => word !== '' && text.slice(0, end).endsWith(word)).map((word) => word.length);
    if (lengths.length > 0) ends.push([end, Math.max(...lengths)]);
  }
  return ends;
}

function scan(words: string[], pieces: string[]): [number, number][] {
  const matcher = new AhoCorasick(words);
  const ends: [number, number][] = [];
  let base = 0;
  let state = 0;
  for (const piece of pieces) {
    withCodeUnits(piece, (units) => {
      state = matcher.scan(units, state, (end, at) => ends.push([base + end, matcher.longest[at]!]));
    });
    base += piece.length;
  }
  return ends;
}

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '\x80', 'é', '\ud83d', '\ude00'), maxLength: 6 });

describe('the Aho-Corasick matcher', () => {
  it('finds the same words as a brute-force search, however the text is split', () => {
    fc.assert(
      fc.property(fc.array(word), fc.array(word), (words, pieces) => {
        expect(scan(words, pieces)).toEqual(bruteForceSearch(words, pieces.join('')));
      }),
      { numRuns: 2000 },
    );
  });

  it('finds words beyond the states with precomputed steps', () => {
    const words = Array.from({ length: 3000 }, (_, index) => `word-${String(index * 7919).padStart(9, '0')}-end`);
    const text = `${words[7]} ${words[2999]} ${words[1500]!.slice(0, -1)}! ${words[0]}`;
    expect(scan(words, [text]).map(([end]) => end)).toEqual([18, 37, 75]);
    expect(scan(words, [words.join('')]).map(([end]) => end)).toEqual(words.map((_, index) => 18 * (index + 1)));
  });

  it('finds a single word and knows how much of it a text ends with', () => {
    const matcher = new AhoCorasick(['Stop']);
    const ends: number[] = [];
    const depthAfter = (text: string) => {
      let state = 0;
      withCodeUnits(text, (units) => (state = matcher.scan(units, 0, (end) => ends.push(end))));
      return matcher.depth[state];
    };
    expect(['', 'S', 'xSto', 'Stop', 'Stox'].map(depthAfter)).toEqual([0, 1, 3, 4, 0]);
    expect(ends).toEqual([4]);
  });

  it('finds nothing without words', () => {
    expect(scan([], ['text'])).toEqual([]);
    expect(scan([''], ['text'])).toEqual([]);
  });
});
