import { parseEnvAssignments } from './envFileText.ts';

describe('the assignments of an env file', () => {
  it.each<[string, ...[string, string][]]>([
    [''],
    ['# A=1\n \t\r\n'],
    ['A=1', ['A', '1']],
    ['A= a b \t# c\n\n\texport B.c-d_1\t=\te=f#g\r\n', ['A', 'a b'], ['B.c-d_1', 'e=f#g']],
    ['A="a $B\n\\$C \\n\\r\\t\\"\\\\" # d\n', ['A', 'a $B\n$$C \n\r\t"\\']],
    ["A='$B ${'\nC=$D", ['A', '$$B $${'], ['C', '$D']],
    ['A: 1\nB :x:y\nexport C:\n', ['A', '1'], ['B', 'x:y'], ['C', '']],
    ['1A=1\nB[0]=2\n', ['1A', '1'], ['B[0]', '2']],
    ['A="C:\\Windows \\\'x"', ['A', "C:\\Windows \\'x"]],
    ['A=\nB=""\n', ['A', ''], ['B', '']],
  ])('%j', (text, ...assignments) => {
    expect(parseEnvAssignments(text)).toEqual({
      lines: assignments.map(([name, template]) => ({ name, template })),
    });
  });

  it.each(['A= "a #${B}"z', 'A=\t"a #${B}"z', 'A: "a #${B}"z', "A= 'x'B", 'A=\u00a0"a #${B}"', 'A=\u00a0a'])(
    '%j is not one: compose reads a quoted value there',
    (text) => {
      expect(parseEnvAssignments(text)).toMatchObject({ fault: 'has a line 1 that is not NAME=VALUE' });
    },
  );

  it('of a line of blanks as long as a file may be do not take long', () => {
    const blanks = ' '.repeat(500_000);
    expect(parseEnvAssignments(`A=a${blanks}b\n`).lines).toEqual([{ name: 'A', template: `a${blanks}b` }]);
  });

  it('end before the first line that is not one', () => {
    expect(parseEnvAssignments('A=1\nB\nC=2')).toEqual({
      lines: [{ name: 'A', template: '1' }],
      fault: 'has a line 2 that is not NAME=VALUE',
      rest: 'B\nC=2',
    });
    expect(parseEnvAssignments('A="\\0044"')).toMatchObject({ fault: 'has a line 1 that is not NAME=VALUE' });
    expect(parseEnvAssignments('A\0=\0')).toMatchObject({ fault: 'is UTF-16' });
    expect(parseEnvAssignments('A=1\n\u0085')).toEqual({ lines: [], fault: 'has a control character' });
  });
});
