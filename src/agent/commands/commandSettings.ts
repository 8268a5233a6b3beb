import { commandEndings } from '../../../machines/endings.ts';
import { dropPrivileges, NotAllowed } from '../../platform/host/privileges.ts';
import { withExitCode as withExit, type ToldError } from '../../commandLine.ts';
import { ConfigInvalid } from '../../config/configInvalid.ts';
import { loadSettings } from '../config/loadSettings.ts';
import { configsOfHost, plainConfig } from '../config/namedEnvs.ts';
import type { Settings } from '../config/settings.ts';
import type { EachEnvOptions, RunForEnv } from './eachEnv.ts';

/**
 * Runs a command with the configuration that is named, without one with the plain one, as the owner of its state directory; sets the
 * exit code.
 */
export async function runAsOwner(named: string | null, run: (settings: Settings) => Promise<number>): Promise<void> {
  await withExitCode(() => withSettings(named ?? plainConfig, run));
}

/** Loads a configuration, switches to the owner of its state directory and runs with it. */
export async function withSettings(path: string, run: (settings: Settings) => Promise<number>): Promise<number> {
  const settings = loadSettings(path);
  dropPrivileges(settings.state_dir);
  return run(settings);
}

/** Runs a command for the configuration that is named, else for each of the host (spec §22.2). */
export async function forEachEnv(named: string | null, how: EachEnvOptions, run: RunForEnv): Promise<void> {
  const found = named === null ? configsOfHost(plainConfig) : [named];
  const [only, ...others] = found.length === 0 ? [plainConfig] : found;
  await withExitCode(async () => {
    if (only !== undefined && others.length === 0) return run(only, console);
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
