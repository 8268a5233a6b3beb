import { type Command, CommanderError } from 'commander';
import manifest from '../../package.json' with { type: 'json' };

/** Exit codes of `deployctl` and `deployd-tenancy`. machines/endings.ts has the codes of `deployd`. Codes from 75 on come from sysexits.h. */
export const exitCodes = {
  deployctl: { done: 0, failed: 1, usage: 2, superseded: 3, temporary: 75, notPermitted: 77 },
  deploydTenancy: { done: 0, failed: 1, misconfigured: 78 },
} as const;

/** The end of a command: an error that an operator can cure is printed in lines, with an exit code. */
export interface ToldError {
  lines: readonly string[];
  exit: number;
}

/** Runs a command and sets the exit code; an error that `tell` returns null for is rethrown. */
export async function withExitCode(
  run: () => Promise<number>,
  tell: (error: unknown) => ToldError | null,
): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (error) {
    const told = tell(error);
    if (told === null) throw error;
    for (const line of told.lines) console.error(line);
    process.exitCode = told.exit;
  }
}

/** Parses the arguments of the process and runs the command; a wrong option sets commander's exit code, 1. */
export async function parseArguments(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode;
  }
}

/** Adds the option that names the configuration file. */
export function withConfigOption(command: Command, file: string): Command {
  return command.option('--config <file>', `configuration file (default: ${file})`);
}

/** The version of the agent, its package and its release tag `v<version>`. */
export const version = manifest.version;
