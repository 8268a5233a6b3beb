import { keyTableOf } from '../../core/config/keyTable.ts';
import type { AgentScope } from '../rules/status/agentCommands.ts';
import { configKeys, configTable, type PlaceDefaults } from './configKeys.ts';
import { namedDefaults, namedEnvOf } from './namedEnvs.ts';
import { userDefaults, userHomeOf } from './userConfig.ts';

/** The scope of the agent that a configuration is of, by its place. */
export function scopeOf(configFile: string): AgentScope {
  const env = namedEnvOf(configFile);
  if (env !== null) return { env };
  return userHomeOf(configFile) === null ? 'plain' : 'user';
}

/** The keys of a configuration; those of a named env and of a user's agent have defaults of their own. */
export function configTableOf(configFile: string): typeof configTable {
  const defaults = Object.entries(defaultsOf(configFile)) as [keyof typeof configKeys, string][];
  if (defaults.length === 0) return configTable;
  const keys = { ...configKeys };
  for (const [key, value] of defaults) keys[key] = { ...keys[key], default: value };
  return keyTableOf(keys);
}

function defaultsOf(configFile: string): PlaceDefaults {
  const [env, home] = [namedEnvOf(configFile), userHomeOf(configFile)];
  if (env !== null) return namedDefaults(env);
  return home === null ? {} : userDefaults(home);
}
