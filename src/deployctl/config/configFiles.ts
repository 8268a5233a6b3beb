import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { defaultPolicy, type HostPolicy } from '../../api/hostPolicy.rules.ts';
import { formatWindow } from '../../api/rolloutPlan.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { trustProblems } from '../../core/config/combinations.ts';
import { readConfigFile } from '../../core/config/configFile.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { readTrust } from '../../signatures/signatureFiles.ts';
import { type BundleTrust, plainPem } from '../../signatures/trust.ts';
import { type Io, usageError } from '../core/ctlError.ts';
import { type CtlSettings, ctlTable, policyTable, trustTable } from './configKeys.ts';
import { validatePolicy, validateSettings, validateTrust } from './configValidators.ts';

/** The directory of config.yaml and of the token that `login` keeps. */
export function configDirectory(env: Io['env']): string {
  return join(env['XDG_CONFIG_HOME'] ?? join(env['HOME'] ?? '/', '.config'), 'deployctl');
}

/** Reads config.yaml; only the default one may be missing. Throws CONFIG_INVALID. */
export function readSettings(file: string | undefined, env: Io['env']): CtlSettings {
  const path = file ?? join(configDirectory(env), 'config.yaml');
  if (file === undefined && !existsSync(path)) return withoutFile;
  return withConfigFaults(() => readConfigFile<CtlSettings>(path, settingsFormat).settingsUnless([]));
}

const withoutFile: CtlSettings = {
  url: null,
  token_file: null,
  ca_file: null,
  sigstore: { fulcio: null, rekor: null, tsa: null, root: null },
};

const settingsFormat = {
  table: ctlTable,
  validate: validateSettings,
  example: 'url: https://tenancy.example',
  naming: 'with --config',
};

/** Reads a configuration file; its problems are thrown as CONFIG_INVALID. */
function withConfigFaults<Settings>(read: () => Settings): Settings {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    const lines = error.lines.map((line) => line.replace('CONFIG_INVALID: ', ''));
    throw usageError('CONFIG_INVALID', lines.join('; '));
  }
}

/**
 * The policy of a host, by a file with the key `policy` of its config.yaml; without a file the default. Throws
 * CONFIG_INVALID.
 */
export function readPolicy(file: string | undefined): HostPolicy {
  if (file === undefined) return defaultPolicy;
  return withConfigFaults(() => readConfigFile<{ policy: HostPolicy }>(file, policyFormat).settingsUnless([]).policy);
}

const policyFormat = {
  table: policyTable,
  validate: validatePolicy,
  example: 'policy: {permit: {capabilities: [NET_ADMIN]}}',
  naming: 'with --policy',
};

/**
 * Trusted signers of bundles, from a file with the key `trust.bundles` of a host's config.yaml; paths are relative to
 * the file. It may also have the keys `policy` and `apply.windows`. Throws CONFIG_INVALID.
 */
export async function readTrustFile(file: string): Promise<BundleTrust & HostSettings> {
  const { bundles, settings } = withConfigFaults(() => readTrustSettings(file));
  const { keys = [], root, ...rest } = bundles;
  const absolute = (path: string) => resolve(dirname(file), path);
  const named = { ...rest, keys: keys.map(absolute), ...(root !== undefined && { root: absolute(root) }) };
  const { trust, problems } = await readTrust(named);
  if (problems.length > 0) throw usageError('CONFIG_INVALID', problems.join('; '));
  return { ...trust, keys: trust.keys.map(plainPem), ...settings };
}

/** The JSON text of a Sigstore trust root. Throws CONFIG_INVALID. */
export async function readTrustRoot(file: string): Promise<string> {
  const { trust, problems } = await readTrust({ root: file });
  if (trust.root === null) throw usageError('CONFIG_INVALID', problems.join());
  return trust.root;
}

/** Settings beside the trusted signers; absent if the file does not have them. */
interface HostSettings {
  policy?: HostPolicy;
  /** As text, in the form that hosts report. */
  windows?: string[];
}

function readTrustSettings(file: string): { bundles: TrustSettings; settings: HostSettings } {
  const { lines, valid, settingsUnless } = readConfigFile<TrustFile>(file, trustFormat);
  const problems = trustProblems('trust.bundles', valid.trust?.bundles);
  const { trust, policy, apply } = settingsUnless(problems);
  const settings = {
    ...(lines.has('/policy') && { policy }),
    ...(lines.has('/apply/windows') && { windows: apply.windows.map(formatWindow) }),
  };
  return { bundles: trust.bundles, settings };
}

interface TrustFile {
  trust: { bundles: TrustSettings };
  policy: HostPolicy;
  apply: { windows: TimeWindow[] };
}

const trustFormat = {
  table: trustTable,
  validate: validateTrust,
  example: 'trust: {bundles: {keys: [release.pub]}}',
  naming: 'on the command line',
};
