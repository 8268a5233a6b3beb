import { parseProjectFile } from './projectDocument.ts';
import { bareNamesOf, valueScalars, variableNamesOf } from './usedVariables.ts';

function documentsOf(text: string) {
  const read = parseProjectFile('compose.yaml', text);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.documents;
}

it('variables are those of values, each once', () => {
  const documents = documentsOf('$K: "$A ${B:-$C}"\nservices: {a: {image: [$A, $D]}}\n---\nx: $E\n');
  expect(documents.flatMap(valueScalars).map(({ value }) => value)).toEqual(['$A ${B:-$C}', '$A', '$D', '$E']);
  expect(variableNamesOf(documents)).toEqual(['A', 'B', 'C', 'D', 'E']);
});

it.each<[string, string[]]>([
  ['services: {a: {environment: [A, B=1, "", $C, A]}, b: {environment: [A]}}', ['A']],
  ['services: {a: {environment: {A: , B: 1, C: "", D: [x], E: ~}}}', ['A', 'E']],
  ['x-e: &e {A: }\nservices: {a: {environment: {<<: *e, B: }}}', ['A', 'B']],
  ['services: {a: {environment: text}}', []],
  ['services: {a: {image: x}}', []],
  ['secrets: {s: {environment: S}}\nconfigs: {c: {environment: C}, d: {file: D}}\nservices: {}', ['C', 'S']],
])('names that stand without a dollar sign: %s', (text, names) => {
  expect(bareNamesOf(documentsOf(`${text}\n`))).toEqual(names);
});
