import { certificateProblems, deepFreeze, readConfigFile } from '../../core/config/configFile.ts';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { type Authorities, readAuthorities } from '../../core/certificateAuthorities.ts';
import { readRegularFile } from '../../core/files.ts';
import { isObject } from '../../core/json.rules.ts';
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

/** Largest file that a key may name, in bytes. */
const MAX_BYTES = 65_536;

/** The URL of the PostgreSQL database in a file; throws ConfigInvalid. The error never has anything of the content. */
export function readDatabaseUrl(file: string): string {
  const url = readText(file);
  if (/^postgres(ql)?:\/\/\S+$/.test(url)) return url;
  throw invalid(file, 'must hold a postgresql:// URL in one line');
}

/** The token in a file, in one line; throws ConfigInvalid. */
export function readToken(file: string): string {
  const token = readText(file);
  if (/^\S+$/.test(token)) return token;
  throw invalid(file, 'must hold a token in one line');
}

/** Texts by name from the JSON object in a file, such as a user and a password; throws ConfigInvalid. */
export function readCredentials<Name extends string>(file: string, ...names: Name[]): Record<Name, string> {
  const values = parseObject(readText(file));
  const entries = names.map((name) => [name, values?.[name]] as const);
  if (entries.every(([, value]) => typeof value === 'string' && value !== ''))
    return Object.fromEntries(entries) as Record<Name, string>;
  throw invalid(file, `must be a JSON object with ${names.join(' and ')}`);
}

/** The public keys (PEM) in a file; throws ConfigInvalid. */
export function readPublicKeys(file: string): string[] {
  const pems = readText(file).match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g);
  if (pems !== null) return pems;
  throw invalid(file, 'must hold public keys in PEM');
}

/** The authorities in a PEM file, or those that the system trusts; throws ConfigInvalid. */
export function readTrustedAuthorities(file: string | null): Authorities {
  try {
    return readAuthorities(file);
  } catch (error) {
    throw invalid(file ?? "the system's authorities", (error as Error).message);
  }
}

/** The bytes of a file; throws ConfigInvalid. */
export function readBytes(file: string): Buffer {
  try {
    return readRegularFile(file, MAX_BYTES);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw invalid(file, code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  }
}

function readText(file: string): string {
  return readBytes(file).toString('utf8').trim();
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function invalid(file: string, message: string): ConfigInvalid {
  return new ConfigInvalid(file, [{ line: null, key: '', message }]);
}
