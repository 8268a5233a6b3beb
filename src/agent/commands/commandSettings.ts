import { dirname, resolve } from 'node:path';
import { commandEndings } from '../../../machines/endings.ts';
import { isThere } from '../../core/filesystems.ts';
import { dropPrivileges, NotAllowed } from '../../core/process.ts';
import { type ToldError, withExitCode as withExit } from '../../core/commandLine.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { loadSettings } from '../config/loadSettings.ts';
import { configsOfHost, plainConfig } from '../config/namedEnvs.ts';
import { scopeOf } from '../config/scopeOf.ts';
import { userHomeOf } from '../config/userConfig.ts';
import type { Settings } from '../config/settings.ts';
import type { EachEnvOptions, RunForEnv } from './eachEnv.ts';

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
    const { eachEnv } = await import('./eachEnv.ts');
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
