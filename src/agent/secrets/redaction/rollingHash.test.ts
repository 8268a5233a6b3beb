import fc from 'fast-check';
import { createRedactor } from './redactor.ts';
import { RollingHashMatcher, windowUnits } from './rollingHash.ts';
import { withCodeUnits } from './codeUnits.ts';

const long = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ud83d', '\ude00'), minLength: 64, maxLength: 400 });
const short = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 90 });

/** Which code units of `text` are covered by windows of `word`; the text comes in chunks of `length`. */
function covered(word: string, text: string, length: number): boolean[] {
  const matcher = new RollingHashMatcher();
  matcher.add(word);
  const hidden = Array.from({ length: text.length }, () => false);
  for (let from = 0; from < text.length; from += length)
    withCodeUnits(text.slice(0, from + length), (units) =>
      matcher.scan(units, from, (end) => hidden.fill(true, end - windowUnits, end)),
    );
  return hidden;
}

describe('the windows of a long word', () => {
  it('cover it at every position, however the text is split', () => {
    fc.assert(
      fc.property(short, long, short, fc.integer({ min: 1, max: 100 }), (before, word, after, length) => {
        const hidden = covered(word, before + word + after, length);
        expect(hidden.slice(before.length, before.length + word.length)).not.toContain(false);
      }),
    );
  });

  it('cover nothing else', () => {
    const word = Array.from({ length: 200 }, (_, n) => String.fromCharCode(0x100 + n)).join('');
    expect(covered(word, word.slice(1, 60).repeat(5), 50)).not.toContain(true);
  });

  it('cover a word of many windows, and not the same characters in another order', () => {
    const units = Array.from({ length: 20_000 }, (_, n) => String.fromCharCode((n * n) % 50_021));
    const word = units.join('');
    expect(covered(word, word, word.length)).not.toContain(false);
    expect(covered(word, units.toReversed().join(''), word.length)).not.toContain(true);
  });

  it('cover nothing before and after the text', () => {
    expect(covered(`${'\0'.repeat(63)}x`, 'xyz', 3)).not.toContain(true);
    expect(covered(`${'x'.repeat(63)}\0`, 'x'.repeat(63), 63)).not.toContain(true);
  });

  it('are reported only if they end after the given position', () => {
    const matcher = new RollingHashMatcher();
    matcher.add('x'.repeat(64));
    const endsAfter = (from: number) => {
      const ends: number[] = [];
      withCodeUnits('x'.repeat(66), (units) => matcher.scan(units, from, (end) => ends.push(end)));
      return ends;
    };
    expect([0, 64, 66].map(endsAfter)).toEqual([[64, 65, 66], [65, 66], []]);
  });
});

describe('the undecided end of a text', () => {
  const [line, lines] = ['x'.repeat(64), `${'x'.repeat(63)}\n`];
  it.each([
    ['without a word', [], 'abc', 0],
    ['is its last line', [line], 'ab\ncde', 3],
    ['is shorter than a window', [line], `\n${'a'.repeat(100)}`, 63],
    ['spans lines if a word does', [line, lines, line], 'ab\ncde', 6],
  ])('%s', (_, words, text, undecided) => {
    const matcher = new RollingHashMatcher();
    for (const word of words) matcher.add(word);
    expect(matcher.undecidedUnits(text)).toBe(undecided);
  });
});

describe('a long value', () => {
  const value = `begin ${Array.from({ length: 30_000 }, (_, n) => n.toString(36)).join(' ')} end`;

  it('is redacted as a whole by one mark, however the text is split', () => {
    for (const length of [1000, 65_536, 200_000]) {
      const stream = createRedactor([value]).redactStream();
      const pieces = `<${value}>\nrest`.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      expect(pieces.map((piece) => stream.push(piece)).join('') + stream.end()).toBe('<[REDACTED]>\nrest');
    }
  });

  it('is redacted in part too, when compose truncates it', () => {
    const shown = createRedactor([value]).redact(`invalid: ${value.slice(0, 1000)}…`);
    expect(shown).toMatch(/^invalid: \[REDACTED\].{0,62}…$/);
  });
});
