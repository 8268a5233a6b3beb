import type { Command, Option } from 'commander';

/** Completion scripts for the program's commands and options, by shell. */
export function completionsOf(program: Command): Record<'bash' | 'zsh' | 'fish', string> {
  const [self, ...commands] = [program, ...program.commands].map(commandOf) as [CompletionItem, ...CompletionItem[]];
  return {
    bash: bashCompletion(self, commands),
    zsh: zshCompletion(self, commands),
    fish: fishCompletion(self, commands),
  };
}

/** A command or an option, with its argument and options. */
interface CompletionItem {
  name: string;
  description: string;
  value: ArgumentValue | null;
  options: CompletionItem[];
}

/** A file or one of the choices; without either, any text. */
interface ArgumentValue {
  isFile: boolean;
  choices: readonly string[];
}

function commandOf(command: Command): CompletionItem {
  const [argument] = command.registeredArguments;
  return {
    name: command.name(),
    description: command.description(),
    value: argument ? valueOf(argument.name(), argument.argChoices) : null,
    options: command.createHelp().visibleOptions(command).map(optionOf),
  };
}

function optionOf({ long, description, flags, argChoices }: Option): CompletionItem {
  const [, value] = /<(.*)>/.exec(flags) ?? [];
  const name = long ?? '';
  return { name, description, value: value === undefined ? null : valueOf(value, argChoices), options: [] };
}

function valueOf(name: string, choices: readonly string[] = []): ArgumentValue {
  return { isFile: ['file', 'bundle'].includes(name), choices };
}

function bashCompletion(self: CompletionItem, commands: CompletionItem[]): string {
  const cases = commands.map(({ name, options, value }) => `${name}) ${offerCandidates(value, namesOf(options))} ;;`);
  const valued = self.options
    .filter(({ value }) => value !== null)
    .map(({ name, value }) => `${name}) ${offerCandidates(value)} ;;`);
  return `# bash completion of deployd

_deployd() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local offered='${namesOf([...commands, ...self.options])}' files=false word
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

function offerCandidates(value: ArgumentValue | null, options = ''): string {
  const offered = [...(value?.choices ?? []), options].join(' ').trim();
  return `offered='${offered}' files=${value?.isFile ?? false}`;
}

function namesOf(items: CompletionItem[]): string {
  return items.map(({ name }) => name).join(' ');
}

function zshCompletion(self: CompletionItem, commands: CompletionItem[]): string {
  const escaped = (text: string) => text.replaceAll(/[[\]:\\]/g, '\\$&').replaceAll("'", `'\\''`);
  const argumentOf = ({ isFile, choices }: ArgumentValue) =>
    isFile ? ':file:_files' : `:value:(${choices.join(' ')})`;
  const option = ({ name, description, value }: CompletionItem) =>
    `'${name}[${escaped(description)}]${value ? argumentOf(value) : ''}'`;
  const cases = commands.map(({ name, options, value }) => {
    const parts = [...options.map(option), ...(value ? [`'1${argumentOf(value)}'`] : [])];
    return `      ${name}) _arguments ${parts.join(' ')} ;;`;
  });
  return `#compdef deployd

_deployd() {
  local context state state_descr line
  local -a commands=(
${commands.map(({ name, description }) => `    '${name}:${escaped(description)}'`).join('\n')}
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

function fishCompletion(self: CompletionItem, commands: CompletionItem[]): string {
  const quoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  const argumentOf = ({ isFile, choices }: ArgumentValue) => (isFile ? ' -F' : ` -f -a ${quoted(choices.join(' '))}`);
  const option = (when: string, { name, description, value }: CompletionItem) =>
    `complete -c deployd -n ${quoted(when)} -l ${name.slice(2)}${value ? ` -r${argumentOf(value)}` : ''} -d ${quoted(description)}`;
  const lines = commands.flatMap(({ name, description, options, value }) => {
    const when = `__fish_seen_subcommand_from ${name}`;
    const head = `complete -c deployd -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`;
    const after = value ? [`complete -c deployd -n ${quoted(when)}${argumentOf(value)}`] : [];
    return [head, ...options.map((each) => option(when, each)), ...after];
  });
  const own = self.options.map((each) => option('__fish_use_subcommand', each));
  return ['# fish completion of deployd', '', 'complete -c deployd -f', ...own, ...lines, ''].join('\n');
}
