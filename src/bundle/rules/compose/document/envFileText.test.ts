import { parseEnvAssignments } from './envFileText.ts';

describe('the assignments of an env file', () => {
  it.each<[string, ...[string, string][]]>([
    [''],
    ['# A=1\n \t\r\n'],
    ['A=1', ['A', '1']],
    ['A= a b \t# c\n\n\texport B.c-d_1\t=\te=f#g\r\n', ['A', 'a b'], ['B.c-d_1', 'e=f#g']],
    ['A="a $B\n\\$C \\n\\r\\t\\"\\\\" # d\n', ['A', 'a $B\n$$C \n\r\t"\\']],
    ["A='$B ${'\nC=$D", ['A', '$$B $${'], ['C', '$D']],
    ['A=\nB=""\n', ['A', ''], ['B', '']],
  ])('%j', (text, ...assignments) => {
    expect(parseEnvAssignments(text)).toEqual({
      lines: assignments.map(([name, template]) => ({ name, template })),
    });
  });

  it('end before the first line that is not one', () => {
    expect(parseEnvAssignments('A=1\nB\nC=2')).toEqual({
      lines: [{ name: 'A', template: '1' }],
      fault: 'has a line 2 that is not NAME=VALUE',
      rest: 'B\nC=2',
    });
    expect(parseEnvAssignments('A=1\n\u0085')).toEqual({ lines: [], fault: 'has a control character' });
  });
});
