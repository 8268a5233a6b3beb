import { LogFrames, type LogPiece } from './logFrames.ts';

function frame(stream: number, text: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, text.length]);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** The pieces of a log that arrives in chunks of a size. */
function piecesOf(bytes: Buffer, size: number): [LogPiece['stream'], string][] {
  const frames = new LogFrames();
  const pieces: LogPiece[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(...frames.push(bytes.subarray(at, at + size)));
  return [...pieces, ...frames.end()].map((piece) => [piece.stream, piece.bytes.toString()]);
}

describe.each([1, 5, 7, 1000])('in chunks of %i bytes', (size) => {
  it('frames have their streams', () => {
    const bytes = Buffer.concat([frame(1, 'a\n'), frame(2, ''), frame(2, 'b'), frame(0, 'c\n')]);
    expect(piecesOf(bytes, size)).toEqual([
      ['stdout', 'a\n'],
      ['stderr', ''],
      ['stderr', 'b'],
      ['stdout', 'c\n'],
    ]);
  });

  it.each<[string, string[]]>([
    ['one\ntwo é\n\nrest', ['one\n', 'two é\n', '\n', 'rest']],
    ['short', ['short']],
    ['', []],
  ])('the output of a terminal, %j, has lines', (text, lines) => {
    expect(piecesOf(Buffer.from(text), size)).toEqual(lines.map((line) => ['terminal', line]));
  });

  it('a frame that is not complete counts for nothing', () => {
    expect(piecesOf(Buffer.concat([frame(1, 'a\n'), frame(1, 'b\n').subarray(0, 9)]), size)).toEqual([
      ['stdout', 'a\n'],
    ]);
  });
});

it('passes on what a terminal has printed of a line without an end', () => {
  const frames = new LogFrames();
  const part = Buffer.alloc(10 * 1024, 'x');
  expect([part, part, part, part].map((chunk) => frames.push(chunk).map(({ bytes }) => bytes.length / 1024))).toEqual([
    [],
    [20],
    [],
    [20],
  ]);
});
