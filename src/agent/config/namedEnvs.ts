import { basename, dirname, join, resolve } from 'node:path';
import { isThere, namesIn } from '../../core/filesystems.ts';
import type { PlaceDefaults } from './configKeys.ts';
import { userHomeOf } from './userConfig.ts';

/** The configuration of the plain unit, `deployd.service`. */
export const plainConfig = '/etc/deployd/config.yaml';

const [plainDirectory, namedDirectory, fileName] = ['deployd', 'deployd-envs', 'config.yaml'];

/** What names an env. */
export const envPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The configuration of a named env, the one of `deployd@<env>.service` (spec §22). */
export function configOf(env: string): string {
  return `/etc/${namedDirectory}/${env}/${fileName}`;
}

/** The named env that a configuration is of by its place; null for the plain one, and for one that is elsewhere. */
export function namedEnvOf(configFile: string): string | null {
  const directory = dirname(resolve(configFile));
  const env = basename(directory);
  return basename(dirname(directory)) === namedDirectory && envPattern.test(env) ? env : null;
}

/** Defaults of the keys that name places, in a named env. */
export function namedDefaults(env: string): PlaceDefaults {
  return {
    state_dir: `/var/lib/${namedDirectory}/${env}`,
    bootstrap_file: `/etc/${namedDirectory}/${env}/bootstrap.jwt`,
    secretstore_ca: `/etc/${namedDirectory}/${env}/secretstore-ca.pem`,
  };
}

/**
 * The configurations of a host that has this one, the plain one first, then those of the named envs; this one alone where it is
 * elsewhere. Throws an error of the disk.
 */
export function configsOfHost(configFile: string): string[] {
  const directory = dirname(resolve(configFile));
  const isPlain = basename(directory) === plainDirectory && userHomeOf(configFile) === null;
  if (!isPlain && namedEnvOf(configFile) === null) return [configFile];
  const etc = isPlain ? dirname(directory) : dirname(dirname(directory));
  const named = namesIn(join(etc, namedDirectory)).filter((name) => envPattern.test(name));
  const directories = [plainDirectory, ...named.map((name) => join(namedDirectory, name))];
  return directories.map((each) => join(etc, each, fileName)).filter(isThere);
}

/** The configurations of the other envs of the host. */
export function otherConfigs(configFile: string): string[] {
  return configsOfHost(configFile).filter((file) => dirname(file) !== dirname(resolve(configFile)));
}
