import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command } from 'commander';
import { completionsOf } from './completions.ts';

const program = new Command('deployd').helpOption('--help', "the command's help").helpCommand(false);
program
  .command('run')
  .description('tick: [now]')
  .option('--once', 'one tick')
  .option('--config <file>', 'configuration');
program.command('plan').description('judge').argument('<bundle>', 'a bundle');
program
  .command('machine')
  .description('show')
  .addArgument(new Argument('[name]', 'which').choices(['tick', 'down']));
program.command('trace').description('tell').argument('[tick]', 'id of the tick');
program.option('--config <file>', 'configuration');

const completions = completionsOf(program);
const dir = mkdtempSync(join(tmpdir(), 'deployd-completions-'));

beforeAll(() => {
  writeFileSync(join(dir, 'bundle.tar.gz'), '');
  for (const [shell, text] of Object.entries(completions)) writeFileSync(join(dir, shell), text);
});

afterAll(() => rmSync(dir, { recursive: true }));

it.each([
  ['', ['run', 'plan', 'machine', 'trace', '--config', '--help']],
  ['r', ['run']],
  ['run --', ['--once', '--config', '--help']],
  ['run --once --c', ['--config']],
  ['run --config bu', ['bundle.tar.gz']],
  ['--config bundle.tar.gz p', ['plan']],
  ['plan bu', ['bundle.tar.gz']],
  ['run bu', []],
  ['machine ', ['tick', 'down', '--help']],
  ['trace bu', []],
])('bash completes `deployd %s`', (line, expected) => {
  const words = `deployd ${line}`.split(' ');
  const script = `. ./bash; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _deployd; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const offered = execFileSync('bash', ['-c', script, 'bash', ...words], { cwd: dir, encoding: 'utf8' });
  expect(offered.split('\n').filter(Boolean)).toEqual(expected);
});

it('escapes characters that are special in a shell', () => {
  expect(completions.zsh).toContain(`'run:tick\\: \\[now\\]'`);
  expect(completions.zsh).toContain(`'--help[the command'\\''s help]'`);
  expect(completions.fish).toContain(`-d 'the command\\'s help'`);
});
