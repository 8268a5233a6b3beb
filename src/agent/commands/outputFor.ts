import { namedEnvOf } from '../config/namedEnvs.ts';
import { commandsOfEnv } from '../rules/status/commandsOfEnv.ts';
import type { Output } from './status.ts';

/** The output of a command, in which commands and units are those of the env that a configuration is of. */
export function outputFor(configFile: string, out: Output): Output {
  const env = namedEnvOf(configFile);
  return { log: (text) => out.log(commandsOfEnv(text, env)), error: (text) => out.error(commandsOfEnv(text, env)) };
}
