import type { ArgumentValue, CompletionItem } from './completionItems.ts';

/** The completion of a program for zsh: a function for the program, and one for each group of commands. */
export function zshCompletion(self: CompletionItem): string {
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
