import { dirname, join, resolve } from 'node:path';
import type { PlaceDefaults } from './configKeys.ts';

const configDirectory = '.config/deployd';

/** The configuration of the agent of the user with this home directory, the one of the user's `deployd.service` (spec §24). */
export function userConfigIn(home: string): string {
  return join(home, configDirectory, 'config.yaml');
}

/** The home directory of the user whose agent a configuration is of by its place; null for every other one. */
export function userHomeOf(configFile: string): string | null {
  const directory = dirname(resolve(configFile));
  return directory.endsWith(`/${configDirectory}`) ? directory.slice(0, -configDirectory.length - 1) || '/' : null;
}

/** Defaults of the keys that name places, in a home directory. The engine is the rootless Podman of this user. */
export function userDefaults(home: string): PlaceDefaults {
  return {
    state_dir: join(home, '.local/state/deployd'),
    bootstrap_file: join(home, configDirectory, 'bootstrap.jwt'),
    secretstore_ca: join(home, configDirectory, 'secretstore-ca.pem'),
    container_host: `unix:///run/user/${process.getuid?.() ?? 0}/podman/podman.sock`,
  };
}
