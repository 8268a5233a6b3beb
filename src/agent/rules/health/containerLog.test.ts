import { logOf, probeOf } from './containerLog.ts';

const split = 16 * 1024;

/** A log as the engine tells it: one frame for each entry, of standard output (1) or error (2). */
function framed(...entries: [stream: 1 | 2, text: string][]): Buffer {
  return Buffer.concat(
    entries.flatMap(([stream, text]) => {
      const head = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
      head.writeUInt32BE(Buffer.byteLength(text), 4);
      return [head, Buffer.from(text)];
    }),
  );
}

const lines = (count: number) => Array.from({ length: count }, (_, n): [1, string] => [1, `${n}\n`]);

describe('a log', () => {
  it('is told in the order in which it was written', () => {
    expect(logOf(framed([1, 'a\n'], [2, 'b\n'], [1, 'c\n']), 20)).toEqual([{ text: 'a\nb\nc\n', cut: false }]);
  });

  it('of a terminal has no frames', () => {
    expect(logOf(Buffer.from('a\r\nb\r\n'), 20)).toEqual([{ text: 'a\r\nb\r\n', cut: false }]);
    expect(logOf(Buffer.from('a\nb\nc\n'), 2)).toEqual([{ text: 'b\nc\n', cut: false }]);
    expect(logOf(Buffer.from('a'), 20)).toEqual([{ text: 'a', cut: false }]);
  });

  it('that is empty has nothing to tell', () => {
    expect(logOf(Buffer.alloc(0), 20)).toEqual([]);
  });

  it('ends in what was written last, where the app wrote no end of line', () => {
    expect(logOf(framed([1, 'a\n'], [2, 'boom']), 20)).toEqual([
      { text: 'a\n', cut: false },
      { text: 'boom', cut: false },
    ]);
  });

  it('has lines whole that the engine split, whatever came in between, bytes of one character too', () => {
    const first = `${'x'.repeat(split - 1)}é`;
    const bytes = framed([1, first], [2, 'b\n'], [1, 'end\n']);
    expect(logOf(bytes, 20)).toEqual([{ text: `b\n${first}end\n`, cut: false }]);
  });

  it('is cut where the rest of a line that the engine split is still to come', () => {
    const open = 'x'.repeat(split);
    expect(logOf(framed([1, 'a\n'], [2, open], [1, 'b\n']), 20)).toEqual([
      { text: 'a\nb\n', cut: false },
      { text: open, cut: true },
    ]);
  });

  it('begins with a whole line where there is more than was asked for', () => {
    expect(logOf(framed(...lines(3)), 3)).toEqual([{ text: '0\n1\n2\n', cut: false }]);
    expect(logOf(framed(...lines(4)), 3)).toEqual([{ text: '1\n2\n3\n', cut: false }]);
    const torn = framed([1, 'x'.repeat(split)], [2, 'b\n'], [1, 'rest of the line\n'], [1, 'c\n']);
    expect(logOf(torn, 3)).toEqual([{ text: 'c\n', cut: false }]);
    const other = framed([1, 'a\n'], [2, 'rest of a line of the other stream\n'], [1, 'c\n'], [2, 'd\n']);
    expect(logOf(other, 3)).toEqual([{ text: 'c\nd\n', cut: false }]);
    const typed = Buffer.from(`rest of a line\n${'x'.repeat(split)}\n`);
    expect(logOf(typed, 3)).toEqual([{ text: `${'x'.repeat(split)}\n`, cut: false }]);
    expect(logOf(framed([1, 'x'.repeat(split)], [1, 'x'.repeat(split)]), 1)).toEqual([]);
  });
});

describe('the output of a probe', () => {
  it.each([
    ['short', 'no answer\n', { text: 'no answer\n', cut: false }],
    ['of the full length', 'x'.repeat(4096), { text: 'x'.repeat(4096), cut: false }],
    ['beyond it', `${'x'.repeat(4096)}...`, { text: 'x'.repeat(4096), cut: true }],
    ['with dots of its own', 'still waiting...', { text: 'still waiting...', cut: false }],
    ['cut in a character', `${'x'.repeat(4095)}\ufffd...`, { text: `${'x'.repeat(4095)}\ufffd`, cut: true }],
    ['of the length that Podman keeps', 'x'.repeat(500), { text: 'x'.repeat(500), cut: true }],
    ['beyond that length', 'x'.repeat(501), { text: 'x'.repeat(501), cut: false }],
    ['cut there in a character', `${'x'.repeat(499)}\ufffd`, { text: `${'x'.repeat(499)}\ufffd`, cut: true }],
    ['of that length in whole lines', `${'x'.repeat(499)}\n`, { text: `${'x'.repeat(499)}\n`, cut: false }],
    ['in time', 'Health check exceeded timeout (5s)', { text: 'Health check exceeded timeout (5s)', cut: false }],
    [
      'ended in the middle of a line',
      'Health check exceeded timeout (5s): a\nb',
      { text: 'Health check exceeded timeout (5s): a\nb', cut: true },
    ],
    [
      'ended after a line',
      'Health check exceeded timeout (5s): a\n',
      { text: 'Health check exceeded timeout (5s): a\n', cut: false },
    ],
  ])('%s', (_title, output, written) => {
    expect(probeOf(output)).toEqual(written);
  });
});
