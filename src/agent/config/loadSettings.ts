import { certificateProblems, inspectCertificateFile } from '../../config/certificateFile.ts';
import { deepFreeze, readConfigFile } from '../../config/configFile.ts';
import { normalizeAddresses, validateCombinations } from './combinations.ts';
import { configTable } from './configKeys.ts';
import { validate } from './configValidator.ts';
import type { Settings } from './settings.ts';

const configFormat = {
  table: configTable,
  validate,
  example: 'env: eu-1',
  readers: 'it belongs to root and group deployd with mode 0640, so run as root or deployd',
  naming: 'with --config',
};

/** Loads config.yaml into frozen Settings; throws ConfigInvalid with all of its problems. */
export function loadSettings(path: string): Settings {
  const { valid, lines, settingsUnless } = readConfigFile<Settings>(path, configFormat);
  const status = inspectCertificateFile(valid.secretstore_ca);
  // Only the file that the default names may be missing.
  const isAbsent = status === 'missing' && !lines.has('/secretstore_ca');
  const settings = settingsUnless([
    ...validateCombinations(valid, lines.has('/port')),
    ...certificateProblems('tenancy_ca', valid.tenancy_ca),
    ...(isAbsent ? [] : certificateProblems('secretstore_ca', valid.secretstore_ca, status)),
  ]);
  return deepFreeze({ ...normalizeAddresses(settings), ...(isAbsent && { secretstore_ca: null }) });
}
