import { namesOf, type ArgumentValue, type CompletionItem } from './completionItems.ts';

/** The completion of a program for fish. */
export function fishCompletion({ name, commands, options }: CompletionItem): string {
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
