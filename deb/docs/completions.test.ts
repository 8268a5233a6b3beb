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

const grouped = new Command('keep').helpOption(false).helpCommand(false).option('--json', 'for programs');
grouped.configureHelp({ showGlobalOptions: true }).command('push').description('give').argument('<bundle>', 'a bundle');
const env = grouped.command('env').description('envs');
env.command('list').description('all');
env
  .command('show')
  .description('one')
  .argument('<env>')
  .option('--state <state>', 'of it')
  .option('-o, --output <directory>', 'where');
grouped.command('key').description('keys').command('list').description('all keys').option('--old', 'old ones too');

const completions = completionsOf(program);
const dir = mkdtempSync(join(tmpdir(), 'deployd-completions-'));

beforeAll(() => {
  writeFileSync(join(dir, 'bundle.tar.gz'), '');
  writeFileSync(join(dir, 'bash'), completions.bash + completionsOf(grouped).bash);
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
  expect(offeredBy('deployd', line)).toEqual(expected);
});

it.each([
  ['', ['push', 'env', 'key', '--json']],
  ['env ', ['list', 'show', '--json']],
  ['env s', ['show']],
  ['--json env show --', ['--state', '--output', '--json']],
  ['env show --output bu', ['bundle.tar.gz']],
  ['env show --state bu', []],
  ['key list --', ['--old', '--json']],
  ['env list --', ['--json']],
  ['list ', ['push', 'env', 'key', '--json']],
  ['push bu', ['bundle.tar.gz']],
])('bash completes commands of groups: `keep %s`', (line, expected) => {
  expect(offeredBy('keep', line)).toEqual(expected);
});

function offeredBy(name: string, line: string): string[] {
  const words = `${name} ${line}`.split(' ');
  const script = `. ./bash; compopt() { :; }; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _${name}; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const offered = execFileSync('bash', ['-c', script, 'bash', ...words], { cwd: dir, encoding: 'utf8' });
  return offered.split('\n').filter(Boolean);
}

it('offers a command of a group in zsh and fish behind its group only', () => {
  const { zsh, fish } = completionsOf(grouped);
  expect(zsh).toContain('_keep_env() {');
  expect(zsh).toMatch(/^ {6}env\) _keep_env ;;$/m);
  const before = '__fish_seen_subcommand_from env; and not __fish_seen_subcommand_from list show';
  expect(fish).toContain(`complete -c keep -n '${before}' -a show -d 'one'\n`);
  const behind = '__fish_seen_subcommand_from env; and __fish_seen_subcommand_from show';
  expect(fish).toContain(`complete -c keep -n '${behind}' -l state -r -f -a '' -d 'of it'\n`);
});

it('escapes characters that are special in a shell', () => {
  expect(completions.zsh).toContain(`'run:tick\\: \\[now\\]'`);
  expect(completions.zsh).toContain(`'--help[the command'\\''s help]'`);
  expect(completions.fish).toContain(`-d 'the command\\'s help'`);
});
