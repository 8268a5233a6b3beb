import type { Command, Option } from 'commander';

/** Completions of the command line as it is, by shell. */
export function completionsOf(program: Command): Record<'bash' | 'zsh' | 'fish', string> {
  const [self, ...commands] = [program, ...program.commands].map(commandOf) as [Word, ...Word[]];
  return { bash: bash(self, commands), zsh: zsh(self, commands), fish: fish(self, commands) };
}

/** A command or an option, with what may follow it. */
interface Word {
  name: string;
  meaning: string;
  value: Value | null;
  options: Word[];
}

/** A file, one of the choices, or, without any, something that cannot be known. */
interface Value {
  isFile: boolean;
  choices: readonly string[];
}

function commandOf(command: Command): Word {
  const [argument] = command.registeredArguments;
  return {
    name: command.name(),
    meaning: command.description(),
    value: argument ? valueOf(argument.name(), argument.argChoices) : null,
    options: command.createHelp().visibleOptions(command).map(optionOf),
  };
}

function optionOf({ long, description, flags, argChoices }: Option): Word {
  const [, value] = /<(.*)>/.exec(flags) ?? [];
  const name = long ?? '';
  return { name, meaning: description, value: value === undefined ? null : valueOf(value, argChoices), options: [] };
}

function valueOf(name: string, choices: readonly string[] = []): Value {
  return { isFile: ['file', 'bundle'].includes(name), choices };
}

function bash(self: Word, commands: Word[]): string {
  const cases = commands.map(({ name, options, value }) => `${name}) ${offer(value, names(options))} ;;`);
  const valued = self.options
    .filter(({ value }) => value !== null)
    .map(({ name, value }) => `${name}) ${offer(value)} ;;`);
  return `# bash completion of deployd

_deployd() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local offered='${names([...commands, ...self.options])}' files=false word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      ${cases.join('\n      ')}
    esac
  done
  case $previous in
    ${valued.join('\n    ')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$current")
  if $files; then
    compopt -o filenames
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _deployd deployd
`;
}

function offer(value: Value | null, beside = ''): string {
  const offered = [...(value?.choices ?? []), beside].join(' ').trim();
  return `offered='${offered}' files=${value?.isFile ?? false}`;
}

function names(words: Word[]): string {
  return words.map(({ name }) => name).join(' ');
}

function zsh(self: Word, commands: Word[]): string {
  const escaped = (text: string) => text.replaceAll(/[[\]:\\]/g, '\\$&').replaceAll("'", `'\\''`);
  const taken = ({ isFile, choices }: Value) => (isFile ? ':file:_files' : `:value:(${choices.join(' ')})`);
  const option = ({ name, meaning, value }: Word) => `'${name}[${escaped(meaning)}]${value ? taken(value) : ''}'`;
  const cases = commands.map(({ name, options, value }) => {
    const parts = [...options.map(option), ...(value ? [`'1${taken(value)}'`] : [])];
    return `      ${name}) _arguments ${parts.join(' ')} ;;`;
  });
  return `#compdef deployd

_deployd() {
  local context state state_descr line
  local -a commands=(
${commands.map(({ name, meaning }) => `    '${name}:${escaped(meaning)}'`).join('\n')}
  )
  typeset -A opt_args
  _arguments -C ${self.options.map(option).join(' ')} '1:command:->command' '*::argument:->argument' && return
  case $state in
  command) _describe command commands ;;
  argument)
    case $line[1] in
${cases.join('\n')}
    esac
    ;;
  esac
}

_deployd "$@"
`;
}

function fish(self: Word, commands: Word[]): string {
  const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  const taken = ({ isFile, choices }: Value) => (isFile ? ' -F' : ` -f -a ${quoted(choices.join(' '))}`);
  const option = (when: string, { name, meaning, value }: Word) =>
    `complete -c deployd -n ${quoted(when)} -l ${name.slice(2)}${value ? ` -r${taken(value)}` : ''} -d ${quoted(meaning)}`;
  const lines = commands.flatMap(({ name, meaning, options, value }) => {
    const when = `__fish_seen_subcommand_from ${name}`;
    const head = `complete -c deployd -n __fish_use_subcommand -a ${name} -d ${quoted(meaning)}`;
    const after = value ? [`complete -c deployd -n ${quoted(when)}${taken(value)}`] : [];
    return [head, ...options.map((each) => option(when, each)), ...after];
  });
  const own = self.options.map((each) => option('__fish_use_subcommand', each));
  return ['# fish completion of deployd', '', 'complete -c deployd -f', ...own, ...lines, ''].join('\n');
}
