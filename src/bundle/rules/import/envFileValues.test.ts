import { envValues, readEnvFile } from './envFileValues.ts';

it.each<[string, string[], number]>([
  ['A=1\nB=2\n', ['A=1', 'B=2'], 0],
  ['\ufeffA=1', ['A=1'], 0],
  ['A=1\nno assignment!\nB=2', ['A=1', 'B=2'], 1],
  ['!\n!\nA=1\n', ['A=1'], 2],
  ['A=1\n!', ['A=1'], 1],
  ['A=x\ufeffy\n', [], 1],
  [`${'!!!\n'.repeat(101)}A=1\n`, [], 101],
  [`${'!\n'.repeat(100)}A=1\n`, ['A=1'], 100],
  [`${'!\n'.repeat(101)}A=1\n`, [], 101],
])('reads line by line: %j', (text, assignments, unread) => {
  const read = readEnvFile(text);
  expect(read.assignments.map(({ name, template }) => `${name}=${template}`)).toEqual(assignments);
  expect(read.unread).toBe(unread);
});

it('an earlier line and the environment give variables their values', () => {
  const read = readEnvFile("A=1\nB=$A$C\nD=${NONE}x\nE='$A'\nF=${NONE:?}\nA=2\n");
  const values = envValues(read, (name) => (name === 'C' ? 'c' : null));
  expect(Object.fromEntries(values)).toEqual({ A: '2', B: '1c', D: 'x', E: '$A' });
  expect(envValues(readEnvFile('A=1\nB=$A\n'), () => 'own').get('B')).toBe('own');
});
