import { scopeOf } from '../config/scopeOf.ts';
import { withCommandsOf } from '../rules/status/agentCommands.ts';
import type { Output } from './status.ts';

/** The output of a command, in which commands and units are those of the agent that a configuration is of. */
export function outputFor(configFile: string, out: Output): Output {
  const scope = scopeOf(configFile);
  return {
    log: (text) => out.log(withCommandsOf(scope, text)),
    error: (text) => out.error(withCommandsOf(scope, text)),
  };
}
