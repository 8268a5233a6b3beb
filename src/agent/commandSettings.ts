import { dirname, resolve } from 'node:path';
import { commandEndings } from '../../machines/endings.ts';
import { type ToldError, withExitCode as withExit } from '../core/commandLine.ts';
import { ConfigInvalid } from '../core/config/keyTable.ts';
import { isThere } from '../core/files.ts';
import { dropPrivileges, NotAllowed } from '../core/process.ts';
import { loadSettings } from './config/loadSettings.ts';
import { configsOfHost, namedEnvOf, plainConfig, scopeOf, userHomeOf, withCommandsOf } from './config/namedEnvs.ts';
import type { Settings } from './config/settings.ts';
import type { Output } from './journal/terminal.ts';

/**
 * Runs a command with the configuration that is named, without one with the plain one, as the owner of its state directory; sets the
 * exit code.
 */
export async function runAsOwner(named: string | null, run: (settings: Settings) => Promise<number>): Promise<void> {
  await withExitCode(() => withSettings(named ?? plainConfig, run));
}

/**
 * Switches to the owner of a configuration in a home directory before it is read: root would do what its user wrote (spec §24.1).
 * That of the home directory comes first, since the user can put a link in place of what is in it.
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

/** Runs a command for the configuration that is named, else for each of the host (spec §22.2). */
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

/** An invalid configuration and the wrong user have an exit code of their own. */
function toldErrorOf(error: unknown): ToldError | null {
  if (!(error instanceof ConfigInvalid) && !(error instanceof NotAllowed)) return null;
  const lines = error instanceof ConfigInvalid ? error.lines : [error.message];
  return { lines, exit: commandEndings.configInvalid.meta.exit };
}

/** How the results of the envs are put together. */
export interface EachEnvOptions {
  json: boolean;
  /** The word of the output as JSON that tells whether all is well with an env. */
  verdict: 'in_sync' | 'well';
}

/** Runs a command by one configuration; resolves to its exit code. */
export type RunForEnv = (configFile: string, out: Output) => Promise<number>;

type Means = EachEnvOptions & {
  /** How an error ends a command; null for a bug. */
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

/** What the command printed; a configuration that it could not use is not well, and told beside. */
function resultIn(lines: readonly string[], verdict: string): object {
  return lines.length === 0 ? { [verdict]: false } : (JSON.parse(lines.join('\n')) as object);
}

function titleOf(file: string): string {
  const env = namedEnvOf(file);
  return `${env === null ? 'deployd' : `deployd@${env}`}.service, ${file}`;
}

/** The output of a command, in which commands and units are those of the agent that a configuration is of. */
export function outputFor(configFile: string, out: Output): Output {
  const scope = scopeOf(configFile);
  return {
    log: (text) => out.log(withCommandsOf(scope, text)),
    error: (text) => out.error(withCommandsOf(scope, text)),
  };
}
