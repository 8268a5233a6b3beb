import { basename, dirname, join, resolve } from 'node:path';
import { keyTableOf } from '../../core/config/keyTable.ts';
import { isThere, namesIn } from '../../core/files.ts';
import { configTable } from './configKeys.ts';

/** The configuration of the plain unit, `deployd.service`. */
export const plainConfig = '/etc/deployd/config.yaml';

const [plainDirectory, namedDirectory, fileName] = ['deployd', 'deployd-envs', 'config.yaml'];

/** The name of an environment. */
export const envPattern = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The configuration of a named environment, read by `deployd@<env>.service` (spec §22). */
export function configOf(env: string): string {
  return `/etc/${namedDirectory}/${env}/${fileName}`;
}

/**
 * The named environment that a configuration belongs to, by its place; null for the plain configuration, and for one
 * that is elsewhere.
 */
export function namedEnvOf(configFile: string): string | null {
  const directory = dirname(resolve(configFile));
  const env = basename(directory);
  return basename(dirname(directory)) === namedDirectory && envPattern.test(env) ? env : null;
}

/** Defaults of keys for places, different from the plain configuration. */
type PlaceDefaults = Partial<Record<keyof typeof configTable.keys, string>>;

/** Defaults of the keys for places in a named environment. */
function namedDefaults(env: string): PlaceDefaults {
  return {
    state_dir: `/var/lib/${namedDirectory}/${env}`,
    bootstrap_file: `/etc/${namedDirectory}/${env}/bootstrap.jwt`,
    secretstore_ca: `/etc/${namedDirectory}/${env}/secretstore-ca.pem`,
  };
}

/**
 * All configurations of the host, the plain one first, then the named environments; only this one if it is elsewhere.
 * Throws an error of the disk.
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

/** The configurations of the other environments of the host. */
export function otherConfigs(configFile: string): string[] {
  return configsOfHost(configFile).filter((file) => dirname(file) !== dirname(resolve(configFile)));
}

/** The scope of the agent that a configuration belongs to, by its place. */
export function scopeOf(configFile: string): AgentScope {
  const env = namedEnvOf(configFile);
  if (env !== null) return { env };
  return userHomeOf(configFile) === null ? 'plain' : 'user';
}

/** The keys of a configuration; a named environment and a user's agent have their own defaults. */
export function configTableOf(configFile: string): typeof configTable {
  const defaults = Object.entries(defaultsOf(configFile)) as [keyof PlaceDefaults, string][];
  if (defaults.length === 0) return configTable;
  const { keys } = configTable;
  const changed = Object.fromEntries(defaults.map(([key, value]) => [key, { ...keys[key], default: value }]));
  return keyTableOf({ ...keys, ...changed });
}

function defaultsOf(configFile: string): PlaceDefaults {
  const [env, home] = [namedEnvOf(configFile), userHomeOf(configFile)];
  if (env !== null) return namedDefaults(env);
  return home === null ? {} : userDefaults(home);
}

const configDirectory = '.config/deployd';

/**
 * The configuration of the agent of the user with this home directory, read by the user's `deployd.service` (spec §24).
 */
export function userConfigIn(home: string): string {
  return join(home, configDirectory, 'config.yaml');
}

/**
 * The home directory of the user whose agent a configuration belongs to, by its place; null for every other
 * configuration.
 */
export function userHomeOf(configFile: string): string | null {
  const directory = dirname(resolve(configFile));
  return directory.endsWith(`/${configDirectory}`) ? directory.slice(0, -configDirectory.length - 1) || '/' : null;
}

/** Defaults of the keys for places, in a home directory. The engine is the rootless Podman of this user. */
function userDefaults(home: string): PlaceDefaults {
  return {
    state_dir: join(home, '.local/state/deployd'),
    bootstrap_file: join(home, configDirectory, 'bootstrap.jwt'),
    secretstore_ca: join(home, configDirectory, 'secretstore-ca.pem'),
    container_host: `unix:///run/user/${process.getuid?.() ?? 0}/podman/podman.sock`,
  };
}

/** An agent of a host: the plain one, one for a named environment (spec §22), or one for a user (spec §24). */
export type AgentScope = 'plain' | 'user' | { env: string };

/** Commands that a message may name. */
const commands = 'run|status|plan|hold|unhold|bootstrap|doctor|trace|history|logs|diff|accept-volumes';

/** Replaces the commands and units of the plain agent in a message by those for an agent in this scope. */
export function withCommandsOf(scope: AgentScope, text: string): string {
  if (scope === 'plain') return text;
  if (scope === 'user') return withUserCommands(text);
  return withOption(`--env ${scope.env}`, text).replaceAll(/\bdeployd\.(?=service|timer)/g, `deployd@${scope.env}.`);
}

/**
 * Tasks that require root, also for the agent of a user: packages, groups, the clock, the kernel, and units of the
 * mesh.
 */
const rootCommands =
  'apt-get|usermod|loginctl|timedatectl|dmesg|ziti|update-ca-certificates|install [^&|]* /usr/|systemctl [^&|]*deployd-';

/** A user needs only their own rights, and has units with the same names. */
function withUserCommands(text: string): string {
  return withPodmanCommands(withOption('--user', text))
    .replaceAll(RegExp(`\\bsudo (?!${rootCommands})`, 'g'), '')
    .replaceAll('sudoedit ', '${EDITOR:-vi} ')
    .replaceAll(/(?<!sudo )\b(systemctl|journalctl) (?!--user)/g, '$1 --user ');
}

/** Replaces the commands of Docker that an operator may run by commands of Podman. */
export function withPodmanCommands(text: string): string {
  return text.replaceAll(/\bdocker (?=(?:image|load|network|ps|rm|unpause|volume)\b)/g, 'podman ');
}

function withOption(option: string, text: string): string {
  return text.replaceAll(RegExp(`\\bdeployd (?=(${commands})\\b)`, 'g'), `deployd ${option} `);
}
