import { parseComposeFile } from './composeFile.ts';
import { entriesOf, scalarsOf, valueAt } from './composeNode.ts';
import { withManifestVariables } from './manifestVariables.ts';

function filled(text: string, values: Record<string, string>) {
  const parsed = parseComposeFile('c.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map((problem) => problem.text).join('\n'));
  return withManifestVariables(parsed.file, values).root;
}

it('have their values in every text, on its line', () => {
  const root = filled('a: ${V}\nb:\n  - x\n  - {c: "$V-${S}", d: "${V:-y}z"}\n"$V": ~\n', { V: 'v' });
  expect(scalarsOf(root).map(({ text, line }) => [text, line])).toEqual([
    ...[
      ['v', 1],
      ['x', 3],
      ['$V-${S}', 4],
      ['vz', 4],
      ['~', 5],
    ],
  ]);
  expect(entriesOf(root).map(([key]) => key)).toEqual(['a', 'b', '$V']);
});

it('leave texts as written that would make the file too long, of which those without variables are no part', () => {
  const root = filled(`a: [${'x'.repeat(4096)}, ${Array(40).fill('$V').join(', ')}]`, { V: 'v'.repeat(4096) });
  const lengths = scalarsOf(valueAt(root, 'a')!).map(({ text }) => text.length);
  expect(lengths).toEqual([4096, ...Array<number>(32).fill(4096), ...Array<number>(8).fill(2)]);
});

it.each(['v'.repeat(4097), 'a\u0001b', 'a\nb', 'a\u202eb'])('leave a text as written whose value is %j', (V) => {
  expect(scalarsOf(filled('a: $V', { V })).map(({ text }) => text)).toEqual(['$V']);
});
