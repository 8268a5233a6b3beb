import { traceFileNameOf, selectTracesForRemoval, traceFilesOf, type TraceFile } from './traceFile.ts';

const tick = '6b9f0b5c-0000-4000-8000-000000000000';
const files = (count: number, isQuiet: (number: number) => boolean): TraceFile[] =>
  Array.from({ length: count }, (_, index) => count - index).map((number) => ({
    number,
    tick,
    quiet: isQuiet(number),
  }));

it('lists trace files, newest first, and ignores other names', () => {
  const two = [
    { number: 1, tick, quiet: true },
    { number: 1_000_000, tick, quiet: false },
  ];
  const name = traceFileNameOf({ number: 3, tick, quiet: false });
  const strays = ['.000001-x.tmp-1-2', 'notes', '000003-x.json', `.${name}`, `${name}.tmp-1-2`];
  expect(traceFilesOf([...two.map(traceFileNameOf), ...strays])).toEqual(two.toReversed());
});

it.each<[string, TraceFile[], number[]]>([
  ['nothing of fifty', files(50, () => false), []],
  ['all but the newest fifty when none was quiet', files(53, () => false), [3, 2, 1]],
  ['all but the newest fifty when all were quiet', files(52, () => true), [2, 1]],
  ['none of the newest fifty that were not quiet, however old', files(140, (n) => n > 50), [70, 69, 68, 67, 66]],
])('removes %s', (_name, kept, gone) => {
  expect(
    selectTracesForRemoval(kept)
      .map(({ number }) => number)
      .slice(0, 5),
  ).toEqual(gone.slice(0, 5));
});

it('removes a limited number at once', () => {
  const gone = selectTracesForRemoval(files(5000, () => true));
  expect(gone.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, index) => 20 - index));
});
