import { namesOf, valuedOptionsOf, type ArgumentValue, type CompletionItem } from './completionItems.ts';

/** The completion of a program for bash. */
export function bashCompletion(self: CompletionItem): string {
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
