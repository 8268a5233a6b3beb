import type { Command, Option } from 'commander';

/** Completion scripts for the program's commands, groups of commands and options, by shell. */
export function completionsOf(program: Command): Record<'bash' | 'zsh' | 'fish', string> {
  const self = completionItemOf(program);
  return { bash: bashCompletion(self), zsh: zshCompletion(self), fish: fishCompletion(self) };
}

/** A command or an option, with its argument, its options and, for a group, its commands. */
interface CompletionItem {
  name: string;
  description: string;
  value: ArgumentValue | null;
  options: CompletionItem[];
  commands: CompletionItem[];
}

/** A file or one of the choices; without either, any text. */
interface ArgumentValue {
  isFile: boolean;
  choices: readonly string[];
}

/** The completions of a shell for a command line. */
function completionItemOf(command: Command): CompletionItem {
  const [argument] = command.registeredArguments;
  const help = command.createHelp();
  const inherited = help.showGlobalOptions ? help.visibleGlobalOptions(command) : [];
  return {
    name: command.name(),
    description: command.description(),
    value: argument ? valueOf(argument.name(), argument.argChoices) : null,
    options: [...help.visibleOptions(command), ...inherited].map(optionOf),
    commands: command.commands.map(completionItemOf),
  };
}

/** Every option with a value that a command or one of its commands has, once for each name. */
function valuedOptionsOf(item: CompletionItem): CompletionItem[] {
  const all = [...item.options, ...item.commands.flatMap(valuedOptionsOf)].filter(({ value }) => value !== null);
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}

/** Names of commands or options, for a list of words. */
function namesOf(items: readonly CompletionItem[]): string {
  return items.map(({ name }) => name).join(' ');
}

function optionOf({ long, description, flags, argChoices }: Option): CompletionItem {
  const [, value] = /<(.*)>/.exec(flags) ?? [];
  const taken = value === undefined ? null : valueOf(value, argChoices);
  return { name: long ?? '', description, value: taken, options: [], commands: [] };
}

function valueOf(name: string, choices: readonly string[] = []): ArgumentValue {
  return { isFile: ['file', 'bundle', 'directory'].includes(name), choices };
}

/** The completion of a program for bash. */
function bashCompletion(self: CompletionItem): string {
  const { name, commands, options } = self;
  const hasGroups = commands.some((command) => command.commands.length > 0);
  const cases = commands.flatMap((command) => [
    caseOf(command),
    ...command.commands.map((inner) => caseOf(inner, command)),
  ]);
  const valued = valuedOptionsOf(self).map((option) => `${option.name}) ${offerCandidates(option.value)} ;;`);
  return `# bash completion of ${name}

_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local offered='${namesOf([...commands, ...options])}' files=false word${hasGroups ? ' group=' : ''}
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case ${hasGroups ? '$group' : ''}$word in
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
complete -F _${name} ${name}
`;
}

/** The completions after a command, alone or in its group. */
function caseOf({ name, options, value, commands }: CompletionItem, group?: CompletionItem): string {
  const pattern = group === undefined ? name : `'${group.name} ${name}'`;
  if (commands.length === 0) return `${pattern}) ${offerCandidates(value, namesOf(options))} ;;`;
  return `${pattern}) ${offerCandidates(value, namesOf([...commands, ...options]))} group='${name} ' ;;`;
}

function offerCandidates(value: ArgumentValue | null, options = ''): string {
  const offered = [...(value?.choices ?? []), options].join(' ').trim();
  return `offered='${offered}' files=${value?.isFile ?? false}`;
}

/** The completion of a program for fish. */
function fishCompletion({ name, commands, options }: CompletionItem): string {
  const own = options.map((each) => optionLine(name, '__fish_use_subcommand', each));
  const lines = commands.flatMap((command) => commandLines(name, command, { offered: '__fish_use_subcommand' }));
  return [`# fish completion of ${name}`, '', `complete -c ${name} -f`, ...own, ...lines, ''].join('\n');
}

/** When a command is offered, and of which group it is. */
interface Place {
  offered: string;
  group?: string;
}

function commandLines(program: string, command: CompletionItem, { offered, group }: Place): string[] {
  const { name, description, options, value, commands } = command;
  const seen = `${group === undefined ? '' : `${group}; and `}__fish_seen_subcommand_from ${name}`;
  const condition = offered.includes(' ') ? quoted(offered) : offered;
  const head = `complete -c ${program} -n ${condition} -a ${name} -d ${quoted(description)}`;
  const after = value ? [`complete -c ${program} -n ${quoted(seen)}${argumentOf(value)}`] : [];
  const inner = { offered: `${seen}; and not __fish_seen_subcommand_from ${namesOf(commands)}`, group: seen };
  return [
    head,
    ...options.map((each) => optionLine(program, seen, each)),
    ...after,
    ...commands.flatMap((each) => commandLines(program, each, inner)),
  ];
}

function optionLine(program: string, when: string, { name, description, value }: CompletionItem): string {
  return `complete -c ${program} -n ${quoted(when)} -l ${name.slice(2)}${value ? ` -r${argumentOf(value)}` : ''} -d ${quoted(description)}`;
}

function argumentOf({ isFile, choices }: ArgumentValue): string {
  return isFile ? ' -F' : ` -f -a ${quoted(choices.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}

/** The completion of a program for zsh: a function for the program, and one for each group of commands. */
function zshCompletion(self: CompletionItem): string {
  const groups = self.commands.filter(isGroup).map((group) => functionOf(`_${self.name}_${group.name}`, group));
  return `#compdef ${self.name}

${[functionOf(`_${self.name}`, self), ...groups].join('\n')}
_${self.name} "$@"
`;
}

function functionOf(name: string, { commands, options }: CompletionItem): string {
  const cases = commands.map((command) => `      ${command.name}) ${actionOf(name, command)} ;;`);
  return `${name}() {
  local context state state_descr line
  local -a commands=(
${commands.map((command) => `    '${command.name}:${escaped(command.description)}'`).join('\n')}
  )
  typeset -A opt_args
  _arguments -C ${options.map(optionSpec).join(' ')} '1:command:->command' '*::argument:->argument' && return
  case $state in
  command) _describe command commands ;;
  argument)
    case $line[1] in
${cases.join('\n')}
    esac
    ;;
  esac
}
`;
}

function actionOf(above: string, command: CompletionItem): string {
  if (isGroup(command)) return `${above}_${command.name}`;
  const argument = command.value ? [`'1${argumentSpec(command.value)}'`] : [];
  return `_arguments ${[...command.options.map(optionSpec), ...argument].join(' ')}`;
}

function optionSpec({ name, description, value }: CompletionItem): string {
  return `'${name}[${escaped(description)}]${value ? argumentSpec(value) : ''}'`;
}

function argumentSpec({ isFile, choices }: ArgumentValue): string {
  return isFile ? ':file:_files' : `:value:(${choices.join(' ')})`;
}

function isGroup({ commands }: CompletionItem): boolean {
  return commands.length > 0;
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, '\\$&').replaceAll("'", `'\\''`);
}
