import { createRedactor } from './redactor.ts';

const mark = '[REDACTED]';

/** What a stream releases after each chunk, and at its end. */
function released(secrets: string[], chunks: string[]): string[] {
  const stream = createRedactor(secrets).redactStream();
  return [...chunks.map((chunk) => stream.push(chunk)), stream.end()];
}

describe('an unfinished line', () => {
  it('is released in part when 65 536 characters of it are held back', () => {
    const chunks = [65_535, 1, 57_343, 1, 0].map((length) => 'x'.repeat(length));
    expect(released([], chunks).map((text) => text.length)).toEqual([0, 57_344, 0, 57_344, 0, 8192]);
  });

  it('is held back although the chunk with the line before it is longer', () => {
    const chunk = `${'a'.repeat(40_000)}\n${'b'.repeat(40_000)}`;
    expect(released([], [chunk]).map((text) => text.length)).toEqual([40_001, 40_000]);
  });

  it('keeps what could have become a token', () => {
    const text = `${'-'.repeat(65_536)} eyJ${'a'.repeat(20)}`;
    expect(released([], [text, ' end\n']).join('')).toBe(`${text} end\n`);
  });

  it('knows the characters before a short value with which a chunk begins', () => {
    expect(released(['ab'], ['\n\uffffx', 'ab\n']).join('')).toBe('\n\uffffxab\n');
    expect(released(['ab'], ['\n\uffff', 'ab\n']).join('')).toBe(`\n\uffff${mark}\n`);
  });

  it('is held back where a short value may begin with the end of the line before', () => {
    expect(released(['\nab'], ['-\n', 'ab.\n'])).toEqual(['-', '', `${mark}.\n`]);
  });
});
