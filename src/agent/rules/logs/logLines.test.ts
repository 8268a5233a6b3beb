import { maxPieceBytes } from './logFrames.ts';
import { LogLines, maxLineLength, type LogCut } from './logLines.ts';

/** Redacts nothing, and marks what it was given at the end. */
const plain = () => ({ push: (chunk: Buffer) => chunk.toString(), end: () => '', endTruncated: () => '<cut>' });
const piece = (text: string, stream: 'stdout' | 'stderr' = 'stdout') => ({ stream, bytes: Buffer.from(text) });

const linesOf = (cut: Partial<LogCut>) => new LogLines(plain, { oldPieces: 0, splitBytes: maxPieceBytes, ...cut });

function textsOf(lines: LogLines, ...pieces: ReturnType<typeof piece>[]): string[] {
  return [...pieces.flatMap((each) => lines.push(each)), ...lines.end()].map(({ stream, text }) => `${stream} ${text}`);
}

it('joins the pieces of a line, by stream', () => {
  const pieces = [piece('a'), piece('x\n', 'stderr'), piece('b\nc')];
  expect(textsOf(linesOf({}), ...pieces)).toEqual(['stderr x', 'stdout ab', 'stdout c']);
});

it('drops the first line of each stream of a log that was cut, but not of one that begins later', () => {
  const pieces = [piece('a'), piece('b\n'), piece('c\n'), piece('x\n', 'stderr')];
  expect(textsOf(linesOf({ oldPieces: 3 }), ...pieces)).toEqual(['stdout c', 'stderr x']);
  expect(textsOf(linesOf({ oldPieces: 4 }), ...pieces)).toEqual(['stdout c']);
  expect(textsOf(linesOf({}), ...pieces)).toEqual(['stdout ab', 'stdout c', 'stderr x']);
});

it('skips what an engine tells beyond what is wanted', () => {
  const pieces = [piece('x\n', 'stderr'), piece('a'), piece('b\n'), piece('c\n')];
  expect(textsOf(linesOf({ skippedPieces: 2, oldPieces: 2 }), ...pieces)).toEqual(['stdout c']);
});

it('redacts the end of a line that the engine cut as a truncated text', () => {
  const long = 'x'.repeat(16 * 1024);
  expect(textsOf(linesOf({}), piece(long))).toEqual([`stdout ${long}<cut>...`]);
  expect(textsOf(linesOf({}), piece(long.slice(1)))).toEqual([`stdout ${long.slice(1)}`]);
  expect(textsOf(linesOf({}), piece(long), piece('\n'))).toEqual([`stdout ${long}`]);
  expect(textsOf(linesOf({ splitBytes: 1 }), piece('a\nb'))).toEqual(['stdout a', 'stdout b<cut>...']);
});

it('shows a line without an end in parts, and keeps nothing of what it has shown', () => {
  const lines = linesOf({});
  const shown = Array.from({ length: 40 }, () => lines.push(piece('x'.repeat(16 * 1024)))).flat();
  expect(shown.map(({ text }) => text.length)).toEqual([maxLineLength + 16 * 1024, maxLineLength + 16 * 1024]);
});
