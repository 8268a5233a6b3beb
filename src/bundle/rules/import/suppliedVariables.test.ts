import { expectImport, linesOf, resultOf, type ProjectFiles } from '../../../../fixtures/import/importing.ts';
import type { ImportChoices } from './importReport.ts';

const supplied = (command: string, files: ProjectFiles = {}, choices: Partial<ImportChoices> = {}) => {
  const text = `services: {a: {image: x, command: ${JSON.stringify(command)}}}\n`;
  const { a, variables, secrets, undecided } = resultOf({ 'compose.yaml': text, ...files }, choices);
  return [(a as { command: string }).command, variables, secrets, undecided.length];
};

it.each<[string, ProjectFiles, unknown[]]>([
  ['$A', { '.env': 'A=1' }, ['$A', { A: '1' }, [], 0]],
  ['${A:-x}', {}, ['${A:-x}', {}, [], 0]],
  ['${A-x}', { '.env': 'A=1' }, ['${A-x}', { A: '1' }, [], 0]],
  ['${A:+x}', {}, ['${A:+x}', {}, [], 0]],
  ['$A', {}, ['$A', { A: '' }, [], 1]],
  ['${A?m}', {}, ['${A?m}', {}, [], 1]],
  ['${A:?m}', {}, ['${A:?m}', {}, [], 1]],
  ['$A ${A:?m}', {}, ['$A ${A:?m}', {}, [], 1]],
  ['${A:?m} ${AB}', { '.env': 'A=1' }, ['${A:?m} ${AB}', { A: '1', AB: '' }, [], 1]],
  ['${A:-$B}', {}, ['${A:-$B}', { B: '' }, [], 1]],
  ['$TOKEN', {}, ['$TOKEN', {}, ['TOKEN'], 0]],
  ['${TOKEN:-}', {}, ['${TOKEN:-}', {}, [], 0]],
  ['${TOKEN:-}', { '.env': 'TOKEN=x' }, ['${TOKEN}', {}, ['TOKEN'], 0]],
  ['${TOKEN-x}', {}, ['${TOKEN}', {}, ['TOKEN'], 0]],
  ['${TOKEN:-$$x}', {}, ['${TOKEN}', {}, ['TOKEN'], 0]],
  ['${TOKEN:-$TOKEN2}', {}, ['${TOKEN:-$TOKEN2}', { TOKEN2: '' }, [], 1]],
  ['${TOKEN:-$B}', { '.env': 'TOKEN=x' }, ['${TOKEN}', {}, ['TOKEN'], 0]],
  ['${TOKEN:+x}', { '.env': 'TOKEN=x' }, ['${TOKEN:+x}', {}, ['TOKEN'], 0]],
  ['${TOKEN:?x}', {}, ['${TOKEN:?x}', {}, ['TOKEN'], 0]],
  ['${A:-${TOKEN:-x}}', {}, ['${A:-${TOKEN}}', {}, ['TOKEN'], 0]],
  ['${HOME}', {}, ['${HOME}', {}, [], 1]],
  ['${HOME}', { '.env': "HOME='/$r'" }, ['/$$r', {}, [], 0]],
  ['${HOME:-/x}', {}, ['/x', {}, [], 0]],
  ['${HOME?m}', {}, ['${HOME?m}', {}, [], 1]],
  ['x ${A', {}, ['x ${A', {}, [], 0]],
  ['${TOKEN:-x$B}', {}, ['${TOKEN:-x$B}', { B: '' }, [], 1]],
  ['$$A', {}, ['$$A', {}, [], 0]],
  ['a', {}, ['a', {}, [], 0]],
])('%s with %j', (command, files, expected) => {
  expect(supplied(command, files)).toEqual(expected);
});

it('what the operator chose stands above .env', () => {
  const variables = new Map([
    ['A', '2'],
    ['TOKEN', null],
  ]);
  const files = { '.env': 'A=1\nTOKEN=open\nB=$A\nC=$D\n' };
  expect(supplied('$A $TOKEN $B', files, { variables })).toEqual([
    ...['$A $TOKEN $B', { A: '2', TOKEN: 'open', B: '2' }, [], 0],
  ]);
  expect(supplied('$X', {}, { secrets: new Set(['X']) })).toEqual(['$X', {}, ['X'], 0]);
});

it('a secret of a file takes no name that a variable has', () => {
  expectImport(['{image: x, command: "${TOKEN:-}", environment: {TOKEN: abc}}', {}], {
    ...{ a: { command: '${TOKEN:-}', environment: { TOKEN: '${A_TOKEN}' } }, secrets: ['A_TOKEN'] },
  });
});

it('each change is told once, and only changes are', () => {
  const text = 'services: {a: {image: x, command: "${TOKEN-x} ${TOKEN-x} ${B-x} ${MY_TOKEN:-$B}"}}\n';
  expect(linesOf({ 'compose.yaml': text, '.env': 'MY_TOKEN=x\nB=1\n' })).toEqual([
    'project: variables: ${TOKEN} has no default now, because its value is a secret, and a bundle holds none',
  ]);
});
