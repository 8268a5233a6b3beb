import { certificateProblems } from '../../config/certificateFile.ts';
import { deepFreeze, readConfigFile } from '../../config/configFile.ts';
import { configTable, keyOrders, normalizeAddresses, validateCombinations } from './configKeys.ts';
import { validate } from './configValidator.ts';
import type { TenancySettings } from './settings.ts';

const configFormat = {
  table: configTable,
  validate,
  example: 'public_url: https://tenancy.example',
  readers: 'it belongs to root and group deployd-tenancy with mode 0640, so run as root or deployd-tenancy',
  naming: 'with --config',
  orders: keyOrders,
};

/** Loads config.yaml into frozen settings; throws ConfigInvalid with all of its problems. */
export function loadSettings(path: string): TenancySettings {
  const { valid, settingsUnless } = readConfigFile<TenancySettings>(path, configFormat);
  const settings = settingsUnless([
    ...validateCombinations(valid),
    ...certificateProblems('secretstore_ca', valid.secretstore_ca),
    ...certificateProblems('mesh.controller_ca', valid.mesh?.controller_ca),
    ...certificateProblems('oidc.issuer_ca', valid.oidc?.issuer_ca),
  ]);
  return deepFreeze(normalizeAddresses(settings));
}
