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

it('leave texts as written that would make the file too long', () => {
  const root = filled('a: [$V, $V, $V]', { V: 'v'.repeat(300_000) });
  expect(scalarsOf(valueAt(root, 'a')!).map(({ text }) => text.length)).toEqual([300_000, 300_000, 2]);
});
