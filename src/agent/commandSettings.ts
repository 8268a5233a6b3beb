import { dirname, resolve } from 'node:path';
import { commandEndings } from '../../machines/endings.ts';
import { type ToldError, withExitCode as withExit } from '../core/commandLine.ts';
import { ConfigInvalid } from '../core/config/keyTable.ts';
import { isThere } from '../core/files.ts';
import { dropPrivileges, NotAllowed } from '../core/process.ts';
import { loadSettings } from './config/loadSettings.ts';
import { configsOfHost, namedEnvOf, plainConfig, scopeOf, userHomeOf, withCommandsOf } from './config/namedEnvs.ts';
import type { Settings } from './config/configKeys.ts';
import type { Output } from './journal/terminal.ts';

/**
 * Runs a command with the named configuration, by default the plain one, as the owner of its state directory; sets the
 * exit code.
 */
export async function runAsOwner(named: string | null, run: (settings: Settings) => Promise<number>): Promise<void> {
  await withExitCode(() => withSettings(named ?? plainConfig, run));
}

/**
 * Switches to the owner of a configuration in a home directory before reading it: otherwise root would execute
 * instructions of that user (spec §24.1). The owner is read from the home directory, since the user can replace
 * anything in it by a link.
 */
export function becomeUserOf(path: string): void {
  const home = userHomeOf(path);
  if (home === null) return;
  if (process.getuid?.() === 0 && isThere(home)) dropPrivileges(home);
  const directory = dirname(resolve(path));
  if (isThere(directory)) dropPrivileges(directory);
}

/** Loads a configuration, switches to the owner of its state directory and runs with it. */
export async function withSettings(path: string, run: (settings: Settings) => Promise<number>): Promise<number> {
  becomeUserOf(path);
  const settings = loadSettings(path);
  dropPrivileges(settings.state_dir, scopeOf(path) === 'user' ? { make: 'install -d -m 0700' } : {});
  return run(settings);
}

/** Runs a command for the named configuration, or for each configuration of the host (spec §22.2). */
export async function forEachEnv(named: string | null, how: EachEnvOptions, run: RunForEnv): Promise<void> {
  const found = named === null ? configsOfHost(plainConfig) : [named];
  const [only, ...others] = found.length === 0 ? [plainConfig] : found;
  await withExitCode(async () => {
    if (only !== undefined && others.length === 0) {
      becomeUserOf(only);
      return run(only, console);
    }
    return eachEnv(found, { ...how, tell: toldErrorOf, out: console }, run);
  });
}

/** Runs a command and sets the exit code. */
export function withExitCode(run: () => Promise<number>): Promise<void> {
  return withExit(run, toldErrorOf);
}

/** An invalid configuration and the wrong user have their own exit codes. */
function toldErrorOf(error: unknown): ToldError | null {
  if (!(error instanceof ConfigInvalid) && !(error instanceof NotAllowed)) return null;
  const lines = error instanceof ConfigInvalid ? error.lines : [error.message];
  return { lines, exit: commandEndings.configInvalid.meta.exit };
}

/** How the results of several environments are combined. */
export interface EachEnvOptions {
  json: boolean;
  /** The field of the JSON output that shows whether an environment is ok. */
  verdict: 'in_sync' | 'well';
}

/** Runs a command with one configuration; resolves to its exit code. */
export type RunForEnv = (configFile: string, out: Output) => Promise<number>;

type Means = EachEnvOptions & {
  /** The exit of a command after an error; null for a bug. */
  tell: (error: unknown) => ToldError | null;
  out: Output;
};

/** Runs a command for each configuration of a host (spec §22.2), one below the other; the exit code is the worst. */
export async function eachEnv(configFiles: readonly string[], means: Means, run: RunForEnv): Promise<number> {
  const { json, out, verdict } = means;
  const exits: number[] = [];
  const envs: object[] = [];
  for (const [index, file] of configFiles.entries()) {
    const lines: string[] = [];
    const target = { log: (line: string) => void lines.push(line), error: out.error };
    exits.push(await runOne(file, { ...means, out: target }, run));
    if (json) envs.push({ config: file, ...resultIn(lines, verdict) });
    else out.log([...(index > 0 ? [''] : []), titleOf(file), ...lines].join('\n'));
  }
  const worst = Math.max(...exits);
  if (json) out.log(JSON.stringify({ [verdict]: worst === 0, envs }, null, 2));
  return worst;
}

async function runOne(file: string, { tell, out }: Means, run: RunForEnv): Promise<number> {
  try {
    return await run(file, out);
  } catch (error) {
    const told = tell(error);
    if (told === null) throw error;
    for (const line of told.lines) out.error(line);
    return told.exit;
  }
}

/**
 * The output of the command; a configuration that it could not use counts as a failure and is reported beside the
 * output.
 */
function resultIn(lines: readonly string[], verdict: string): object {
  return lines.length === 0 ? { [verdict]: false } : (JSON.parse(lines.join('\n')) as object);
}

function titleOf(file: string): string {
  const env = namedEnvOf(file);
  return `${env === null ? 'deployd' : `deployd@${env}`}.service, ${file}`;
}

/** The output of a command, with the names of commands and units of the agent that the configuration belongs to. */
export function outputFor(configFile: string, out: Output): Output {
  const scope = scopeOf(configFile);
  return {
    log: (text) => out.log(withCommandsOf(scope, text)),
    error: (text) => out.error(withCommandsOf(scope, text)),
  };
}
