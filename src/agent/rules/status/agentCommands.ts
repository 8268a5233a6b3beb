/** Which of the agents of a host: the plain one, the one of a named env (spec §22), or the one of a user (spec §24). */
export type AgentScope = 'plain' | 'user' | { env: string };

/** Commands that a text may name to an operator. */
const commands = 'run|status|plan|hold|unhold|bootstrap|doctor|trace|history|logs|diff|accept-volumes';

/** A text for an operator with the commands and units of an agent of this scope in place of those of the plain one. */
export function withCommandsOf(scope: AgentScope, text: string): string {
  if (scope === 'plain') return text;
  if (scope === 'user') return withUserCommands(text);
  return withOption(`--env ${scope.env}`, text).replaceAll(/\bdeployd\.(?=service|timer)/g, `deployd@${scope.env}.`);
}

/** What only root can do, also for the agent of a user: packages, groups, the clock, the kernel, and units of the mesh. */
const rootCommands = 'apt-get|usermod|loginctl|timedatectl|dmesg|ziti|systemctl [^&|]*deployd-';

/** A user needs no other rights than the own ones, and has units of the same names. */
function withUserCommands(text: string): string {
  return withOption('--user', text)
    .replaceAll(RegExp(`\\bsudo (?!${rootCommands})`, 'g'), '')
    .replaceAll('sudoedit ', '${EDITOR:-vi} ')
    .replaceAll(/(?<!sudo )\b(systemctl|journalctl) (?!--user)/g, '$1 --user ')
    .replaceAll('docker system prune', 'podman system prune');
}

function withOption(option: string, text: string): string {
  return text.replaceAll(RegExp(`\\bdeployd (?=(${commands})\\b)`, 'g'), `deployd ${option} `);
}
