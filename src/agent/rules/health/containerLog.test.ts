import { LogFrames } from '../logs/logFrames.ts';
import { logExcerptsOf, parseProbeOutput } from './containerLog.ts';

const split = 16 * 1024;

/** A log as the engine sends it: one frame for each entry, of standard output (1) or error (2). */
function framed(...entries: [stream: 1 | 2, text: string][]): Buffer {
  return Buffer.concat(
    entries.flatMap(([stream, text]) => {
      const head = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
      head.writeUInt32BE(Buffer.byteLength(text), 4);
      return [head, Buffer.from(text)];
    }),
  );
}

/** The excerpts of a log of an engine. */
function excerptsOf(bytes: Buffer, maxPieces: number, splitBytes = split) {
  const frames = new LogFrames();
  return logExcerptsOf([...frames.push(bytes), ...frames.end()], { maxPieces, splitBytes });
}

const lines = (count: number) => Array.from({ length: count }, (_, n): [1, string] => [1, `${n}\n`]);

describe('a log', () => {
  it('keeps the order in which it was written', () => {
    expect(excerptsOf(framed([1, 'a\n'], [2, 'b\n'], [1, 'c\n']), 20)).toEqual([
      { text: 'a\nb\nc\n', truncated: false },
    ]);
  });

  it('of a terminal has no frames', () => {
    expect(excerptsOf(Buffer.from('a\r\nb\r\n'), 20)).toEqual([{ text: 'a\r\nb\r\n', truncated: false }]);
    expect(excerptsOf(Buffer.from('a\nb\nc\n'), 2)).toEqual([{ text: 'b\nc\n', truncated: false }]);
    expect(excerptsOf(Buffer.from('abc\nd'), 2)).toEqual([
      { text: 'abc\n', truncated: false },
      { text: 'd', truncated: false },
    ]);
    for (const text of ['a', '\x01abcdefgh', '\x03\0\0\0\0\0\0\0'])
      expect(excerptsOf(Buffer.from(text), 20)).toEqual([{ text, truncated: false }]);
  });

  it('has no excerpt when it is empty', () => {
    expect(excerptsOf(Buffer.alloc(0), 20)).toEqual([]);
    expect(excerptsOf(framed([1, '']), 20)).toEqual([{ text: '', truncated: false }]);
  });

  it('ends with the last output, even without a newline', () => {
    expect(excerptsOf(framed([1, 'a\n'], [2, 'boom']), 20)).toEqual([
      { text: 'a\n', truncated: false },
      { text: 'boom', truncated: false },
    ]);
  });

  it('joins lines that the engine split, despite other entries in between and split characters', () => {
    const first = `${'x'.repeat(split - 1)}é`;
    const bytes = framed([1, first], [2, 'b\n'], [1, 'end\n']);
    expect(excerptsOf(bytes, 20)).toEqual([{ text: `b\n${first}end\n`, truncated: false }]);
  });

  it('is truncated when the rest of a split line is missing', () => {
    const open = 'x'.repeat(split);
    expect(excerptsOf(framed([1, 'a\n'], [2, open], [1, 'b\n']), 20)).toEqual([
      { text: 'a\nb\n', truncated: false },
      { text: open, truncated: true },
    ]);
  });

  it('is truncated at each line without an end where the engine keeps every write as a piece', () => {
    const bytes = framed([1, 'a'], [1, 'b\n'], [2, 'x'], [1, 'c']);
    expect(excerptsOf(bytes, 20, 1)).toEqual([
      { text: 'ab\n', truncated: false },
      { text: 'c', truncated: true },
      { text: 'x', truncated: true },
    ]);
  });

  it('begins with a complete line when there are more entries than requested', () => {
    expect(excerptsOf(framed(...lines(3)), 3)).toEqual([{ text: '0\n1\n2\n', truncated: false }]);
    expect(excerptsOf(framed(...lines(4)), 3)).toEqual([{ text: '1\n2\n3\n', truncated: false }]);
    const torn = framed([1, 'x'.repeat(split)], [2, 'b\n'], [1, 'rest of the line\n'], [1, 'c\n']);
    expect(excerptsOf(torn, 3)).toEqual([{ text: 'c\n', truncated: false }]);
    const other = framed([1, 'a\n'], [2, 'rest of a line of the other stream\n'], [1, 'c\n'], [2, 'd\n']);
    expect(excerptsOf(other, 3)).toEqual([{ text: 'c\nd\n', truncated: false }]);
    const typed = Buffer.from(`rest of a line\n${'x'.repeat(split - 1)}\n`);
    expect(excerptsOf(typed, 3)).toEqual([{ text: `${'x'.repeat(split - 1)}\n`, truncated: false }]);
    expect(excerptsOf(framed([1, 'x'.repeat(split)], [1, 'x'.repeat(split)]), 1)).toEqual([]);
  });
});

describe('the output of a probe', () => {
  it.each([
    ['short', 'no answer\n', { text: 'no answer\n', truncated: false }],
    ['of the full length', 'x'.repeat(4096), { text: 'x'.repeat(4096), truncated: false }],
    ['beyond it', `${'x'.repeat(4096)}...`, { text: 'x'.repeat(4096), truncated: true }],
    [
      'of nearly that length, with dots of its own',
      `${'x'.repeat(4095)}...`,
      { text: `${'x'.repeat(4095)}...`, truncated: false },
    ],
    ['with dots of its own', 'still waiting...', { text: 'still waiting...', truncated: false }],
    [
      'truncated in a character',
      `${'x'.repeat(4095)}\ufffd...`,
      { text: `${'x'.repeat(4095)}\ufffd`, truncated: true },
    ],
    ['of the length that Podman keeps', 'x'.repeat(500), { text: 'x'.repeat(500), truncated: true }],
    ['beyond that length', 'x'.repeat(501), { text: 'x'.repeat(501), truncated: false }],
    [
      'truncated there in a character',
      `${'x'.repeat(499)}\ufffd`,
      { text: `${'x'.repeat(499)}\ufffd`, truncated: true },
    ],
    ['of that length in whole lines', `${'x'.repeat(499)}\n`, { text: `${'x'.repeat(499)}\n`, truncated: false }],
    ['short, with an invalid character at its end', 'a\ufffd', { text: 'a\ufffd', truncated: false }],
    [
      'with the words of an ended probe',
      'x Health check exceeded timeout (5s): a',
      { text: 'x Health check exceeded timeout (5s): a', truncated: false },
    ],
    ['in time', 'Health check exceeded timeout (5s)', { text: 'Health check exceeded timeout (5s)', truncated: false }],
    [
      'ended in the middle of a line',
      'Health check exceeded timeout (5s): a\nb',
      { text: 'Health check exceeded timeout (5s): a\nb', truncated: true },
    ],
    [
      'ended after a line',
      'Health check exceeded timeout (5s): a\n',
      { text: 'Health check exceeded timeout (5s): a\n', truncated: false },
    ],
  ])('%s', (_title, output, written) => {
    expect(parseProbeOutput(output)).toEqual(written);
  });
});
