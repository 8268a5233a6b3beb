import { readRegularFile } from '../../platform/regularFile.ts';
import { inspectCertificateFile, type CertificateFileStatus } from './certificateFile.ts';
import { ConfigInvalid, type ConfigProblem } from './configInvalid.ts';
import { isObject } from '../../protocol/jsonFields.ts';
import { mergeDefaults } from './defaults.ts';
import { validateKeys } from './keyValidation.ts';
import type { Settings } from './settings.ts';
import { normalizeAddresses, validateCombinations } from './combinations.ts';
import { lineOf, parseYamlSource, type YamlSource } from './yamlSource.ts';

/** Loads config.yaml into frozen Settings; throws ConfigInvalid with all of its problems. */
export function loadSettings(path: string): Settings {
  const source = parseYamlSource(readConfig(path));
  if (source.values === undefined) throw new ConfigInvalid(path, source.problems);
  const values = source.values ?? {};
  if (!isObject(values))
    throw new ConfigInvalid(path, [{ line: 1, key: '', message: 'must hold keys, such as `env: eu-1`' }]);

  const merged = mergeDefaults(values);
  const keyProblems = validateKeys(merged, source);
  const valid = validPart(merged, keyProblems);
  const certificates = inspectCertificateFiles(valid);
  const otherProblems = [
    ...validateCombinations(valid, source.lines.has('/port')),
    ...validateCertificateFiles(valid, certificates, source),
  ].map((problem) => ({ ...problem, line: lineOf(source.lines, `/${problem.key}`) }));

  const problems = [...source.problems, ...keyProblems, ...otherProblems];
  if (problems.length > 0) throw new ConfigInvalid(path, problems, validPart(merged, problems));
  const settings = normalizeAddresses(merged as unknown as Settings);
  return deepFreeze(certificates.secretstore_ca === 'missing' ? { ...settings, secretstore_ca: null } : settings);
}

type CertificateKey = 'tenancy_ca' | 'secretstore_ca';

function readConfig(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFile(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw new ConfigInvalid(path, [{ line: null, key: '', message: readErrors[code] ?? `cannot be read (${code})` }]);
  }
}

const readErrors: Record<string, string> = {
  ENOENT: 'does not exist; write it, or name another file with --config',
  EACCES:
    'is not readable by this user; it belongs to root and group deployd with mode 0640, so run as root or deployd',
  EISDIR: 'is a directory; name a file with --config',
  ENOTREG: 'is no regular file; name one with --config',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
};

/** The top-level settings without a problem, so that a rule over several settings sees no invalid one. */
function validPart(merged: Record<string, unknown>, problems: readonly ConfigProblem[]): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(merged).filter(([key]) => problems.every((problem) => problem.key.split('.')[0] !== key)),
  );
}

function inspectCertificateFiles(valid: Partial<Settings>): Record<CertificateKey, CertificateFileStatus> {
  const statusOf = (path: string | null | undefined) => (path ? inspectCertificateFile(path) : 'good');
  return { tenancy_ca: statusOf(valid.tenancy_ca), secretstore_ca: statusOf(valid.secretstore_ca) };
}

/** Only the file named by the default may be missing; every other must contain certificates. */
function validateCertificateFiles(
  valid: Partial<Settings>,
  statuses: Record<CertificateKey, CertificateFileStatus>,
  { lines }: YamlSource,
): Omit<ConfigProblem, 'line'>[] {
  const unusable = (['tenancy_ca', 'secretstore_ca'] as const).filter(
    (key) => statuses[key] !== 'good' && (statuses[key] !== 'missing' || lines.has(`/${key}`)),
  );
  return unusable.map((key) => ({
    key,
    message: `must be a readable PEM file; ${valid[key] ?? ''} is ${statuses[key]}`,
  }));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
