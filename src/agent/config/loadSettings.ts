import { resolve } from 'node:path';
import {
  certificateProblems,
  type ConfigFile,
  deepFreeze,
  inspectCertificateFile,
  readConfigFile,
} from '../../core/config/configFile.ts';
import { ConfigInvalid, type KeyProblem, mergeDefaults } from '../../core/config/keyTable.ts';
import { claimsOf, collisionsOf } from './collisions.ts';
import { keyOrders, normalizeAddresses, validateCombinations } from './combinations.ts';
import { validate } from './configValidator.ts';
import { configTableOf, scopeOf } from './scopeOf.ts';
import { namedEnvOf, otherConfigs } from './namedEnvs.ts';
import type { OtherEnv, Settings } from './settings.ts';

const configFormat = {
  validate,
  example: 'env: eu-1',
  readers: 'it belongs to root and group deployd with mode 0640, so run as root or deployd',
  naming: 'with --config',
  orders: keyOrders,
};

/** Loads config.yaml into frozen Settings; throws ConfigInvalid with all of its problems. */
export function loadSettings(path: string): Settings {
  const { valid, lines, settingsUnless } = readConfig(path);
  const status = inspectCertificateFile(valid.secretstore_ca);
  // Only the file that the default names may be missing.
  const isAbsent = status === 'missing' && !lines.has('/secretstore_ca');
  const settings = settingsUnless([
    ...validateCombinations(valid, lines.has('/port')),
    ...certificateProblems('tenancy_ca', valid.tenancy_ca),
    ...(isAbsent ? [] : certificateProblems('secretstore_ca', valid.secretstore_ca, status)),
    ...collisionProblems(path, valid),
  ]);
  return deepFreeze({
    ...normalizeAddresses(settings),
    ...(isAbsent && { secretstore_ca: null }),
    config_file: resolve(path),
  });
}

/** The settings that the problems of an invalid configuration leave, with the defaults of all others. */
export function settingsDespite(path: string, { validSettings }: ConfigInvalid): Partial<Settings> {
  return { ...mergeDefaults(configTableOf(path), validSettings), ...validSettings, config_file: path };
}

/** The other envs of the host that has this configuration (spec §22). */
export function otherEnvsOf(configFile: string): OtherEnv[] {
  return otherConfigs(configFile).map((file) => {
    const { env = namedEnvOf(file) ?? undefined, state_dir } = validSettings(file);
    return { config_file: file, ...(env !== undefined && { env }), ...(state_dir !== undefined && { state_dir }) };
  });
}

/** The valid settings of a configuration, one key by itself; none where it cannot be read. */
function validSettings(path: string): Partial<Settings> {
  try {
    return readConfig(path).valid;
  } catch (error) {
    if (error instanceof ConfigInvalid) return {};
    throw error;
  }
}

function readConfig(path: string): ConfigFile<Settings> {
  const readers =
    scopeOf(path) === 'user' ? 'it is for the user in whose home directory it lies' : configFormat.readers;
  return readConfigFile<Settings>(path, { ...configFormat, readers, table: configTableOf(path) });
}

/** Only a named env is refused for what it shares: the plain one goes on, whatever is set up beside it. */
function collisionProblems(path: string, valid: Partial<Settings>): KeyProblem[] {
  const env = namedEnvOf(path);
  if (env === null) return [];
  const others = otherConfigs(path).map((file) => claimsOf(file, validSettings(file)));
  return collisionsOf(env, claimsOf(path, valid), others);
}
