import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../../core/config/configFile.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { type Io, usageError } from '../core/ctlError.ts';
import { type CtlSettings, ctlTable } from './configKeys.ts';
import { validateSettings } from './configValidators.ts';

/** The directory of config.yaml and of the token that `login` keeps. */
export function configDirectory(env: Io['env']): string {
  return join(env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? '/', '.config'), 'deployctl');
}

/** Reads config.yaml; only the default one may be missing. Throws CONFIG_INVALID. */
export function readSettings(file: string | undefined, env: Io['env']): CtlSettings {
  const path = file ?? join(configDirectory(env), 'config.yaml');
  if (file === undefined && !existsSync(path)) return withoutFile;
  return withConfigFaults(() => readConfigFile<CtlSettings>(path, format).settingsUnless([]));
}

const withoutFile: CtlSettings = {
  url: null,
  token_file: null,
  ca_file: null,
  sigstore: { fulcio: null, rekor: null, tsa: null, root: null },
};

const format = {
  table: ctlTable,
  validate: validateSettings,
  example: 'url: https://tenancy.example',
  naming: 'with --config',
};

/** Reads a configuration file; its problems are thrown as CONFIG_INVALID. */
export function withConfigFaults<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    const lines = error.lines.map((line) => line.replace('CONFIG_INVALID: ', ''));
    throw usageError('CONFIG_INVALID', lines.join('; '));
  }
}
