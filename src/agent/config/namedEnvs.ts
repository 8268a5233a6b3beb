import { basename, dirname, join, resolve } from 'node:path';
import { keyTableOf } from '../../core/config/keyTable.ts';
import { isThere, namesIn } from '../../core/files.ts';
import { configTable } from './configKeys.ts';

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

/** Defaults of keys that name places, other than those of the plain configuration. */
type PlaceDefaults = Partial<Record<keyof typeof configTable.keys, string>>;

/** Defaults of the keys that name places, in a named env. */
function namedDefaults(env: string): PlaceDefaults {
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

/** The scope of the agent that a configuration is of, by its place. */
export function scopeOf(configFile: string): AgentScope {
  const env = namedEnvOf(configFile);
  if (env !== null) return { env };
  return userHomeOf(configFile) === null ? 'plain' : 'user';
}

/** The keys of a configuration; those of a named env and of a user's agent have defaults of their own. */
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
function userDefaults(home: string): PlaceDefaults {
  return {
    state_dir: join(home, '.local/state/deployd'),
    bootstrap_file: join(home, configDirectory, 'bootstrap.jwt'),
    secretstore_ca: join(home, configDirectory, 'secretstore-ca.pem'),
    container_host: `unix:///run/user/${process.getuid?.() ?? 0}/podman/podman.sock`,
  };
}

/** Which of the agents of a host: the plain one, the one of a named env (spec §22), or the one of a user (spec §24). */
export type AgentScope = 'plain' | 'user' | { env: string };

/** Commands that a text may name to an operator. */
const commands = 'run|status|plan|hold|unhold|bootstrap|doctor|trace|history|logs|diff|accept-volumes';

/** A text for an operator with the commands and units of an agent of this scope in place of those of the plain one. */
export function withCommandsOf(scope: AgentScope, text: string): string {
  if (scope === 'plain') return text;
  if (scope === 'user') return withUserCommands(text);
  return withOption(`--env ${scope.env}`, text).replaceAll(/\bdeployd\.(?=service|timer)/g, `deployd@${scope.env}.`);
}

/** What only root can do, also for the agent of a user: packages, groups, the clock, the kernel, and units of the mesh. */
const rootCommands = 'apt-get|usermod|loginctl|timedatectl|dmesg|ziti|systemctl [^&|]*deployd-';

/** A user needs no other rights than the own ones, and has units of the same names. */
function withUserCommands(text: string): string {
  return withOption('--user', text)
    .replaceAll(RegExp(`\\bsudo (?!${rootCommands})`, 'g'), '')
    .replaceAll('sudoedit ', '${EDITOR:-vi} ')
    .replaceAll(/(?<!sudo )\b(systemctl|journalctl) (?!--user)/g, '$1 --user ')
    .replaceAll('docker system prune', 'podman system prune');
}

function withOption(option: string, text: string): string {
  return text.replaceAll(RegExp(`\\bdeployd (?=(${commands})\\b)`, 'g'), `deployd ${option} `);
}
