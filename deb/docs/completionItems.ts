import type { Command, Option } from 'commander';

/** A command or an option, with its argument, its options and, for a group, its commands. */
export interface CompletionItem {
  name: string;
  description: string;
  value: ArgumentValue | null;
  options: CompletionItem[];
  commands: CompletionItem[];
}

/** A file or one of the choices; without either, any text. */
export interface ArgumentValue {
  isFile: boolean;
  choices: readonly string[];
}

/** The completions of a shell for a command line. */
export function completionItemOf(command: Command): CompletionItem {
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
export function valuedOptionsOf(item: CompletionItem): CompletionItem[] {
  const all = [...item.options, ...item.commands.flatMap(valuedOptionsOf)].filter(({ value }) => value !== null);
  return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);
}

/** Names of commands or options, for a list of words. */
export function namesOf(items: readonly CompletionItem[]): string {
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
