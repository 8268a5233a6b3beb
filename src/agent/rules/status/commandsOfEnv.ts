/** Commands that a text may name to an operator. */
const commands = 'run|status|plan|hold|unhold|bootstrap|doctor|trace|history|logs|diff';

/** A text for an operator with the commands and units of a named env in place of those of the plain one (spec §22). */
export function commandsOfEnv(text: string, namedEnv: string | null): string {
  if (namedEnv === null) return text;
  return text
    .replaceAll(RegExp(`\\bdeployd (?=(${commands})\\b)`, 'g'), `deployd --env ${namedEnv} `)
    .replaceAll(/\bdeployd\.(?=service|timer)/g, `deployd@${namedEnv}.`);
}
