import { dirname, resolve } from 'node:path';
import { readConfigFile } from '../../core/config/configFile.ts';
import { trustProblems } from '../../core/config/combinations.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { type BundleTrust, plainPem } from '../../signatures/trust.ts';
import { readTrust } from '../../signatures/readTrust.ts';
import { usageError } from '../core/ctlError.ts';
import { withConfigFaults } from './settingsFile.ts';
import { trustTable } from './configKeys.ts';
import { validateTrust } from './configValidators.ts';

/**
 * Whom hosts believe about bundles, by a file with the key `trust.bundles` of their config.yaml; paths are relative to the
 * file. Throws CONFIG_INVALID.
 */
export function readTrustFile(file: string): BundleTrust {
  const { keys = [], root, ...rest } = withConfigFaults(() => readSettings(file));
  const absolute = (path: string) => resolve(dirname(file), path);
  const named = { ...rest, keys: keys.map(absolute), ...(root !== undefined && { root: absolute(root) }) };
  const { trust, problems } = readTrust(named);
  if (problems.length > 0) throw usageError('CONFIG_INVALID', problems.join('; '));
  return { ...trust, keys: trust.keys.map(plainPem) };
}

/** The JSON text of a Sigstore trust root. Throws CONFIG_INVALID. */
export function readTrustRoot(file: string): string {
  const { trust, problems } = readTrust({ root: file });
  if (trust.root === null) throw usageError('CONFIG_INVALID', problems.join());
  return trust.root;
}

function readSettings(file: string): TrustSettings {
  const { valid, settingsUnless } = readConfigFile<TrustFile>(file, format);
  const problems = trustProblems('trust.bundles', valid.trust?.bundles);
  return settingsUnless(problems).trust.bundles;
}

interface TrustFile {
  trust: { bundles: TrustSettings };
}

const format = {
  table: trustTable,
  validate: validateTrust,
  example: 'trust: {bundles: {keys: [release.pub]}}',
  naming: 'on the command line',
};
