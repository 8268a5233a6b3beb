import { runHostProgram } from './accounts.ts';

it.each<[string, [string, ...string[]], { rc: number; stdout: string }]>([
  ['exits with 0', ['printf', 'text'], { rc: 0, stdout: 'text' }],
  ['exits with another code', ['sh', '-c', 'echo text; exit 3'], { rc: 3, stdout: 'text\n' }],
  ['is missing', ['no-such-program'], { rc: 127, stdout: '' }],
])('a program that %s', async (_name, argv, result) => {
  expect(await runHostProgram(argv)).toEqual(result);
});

it('has nothing of this environment', async () => {
  const { stdout } = await runHostProgram(['env']);
  const names = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/=.*/, ''));
  expect(names.toSorted()).toEqual(['LANG', 'PATH']);
});
