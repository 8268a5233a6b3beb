import { parseCertificate, pemCertificatesIn } from '../certificateAuthorities.ts';
import { readRegularFile } from '../files.ts';
import { isObject } from '../json.rules.ts';
import { ConfigInvalid, type ConfigProblem, type KeyProblem, mergeDefaults } from './keyTable.ts';
import { type KeyOrder, orderDefaults, orderProblems } from './combinations.ts';
import { type ConfigKeys, validateKeys } from './keyValidation.ts';
import { lineOf, parseYamlSource, type YamlSource } from './yamlSource.ts';

/** What distinguishes one kind of configuration file from another. */
interface ConfigFormat extends ConfigKeys {
  /** A first line, such as `env: eu-1`. */
  example: string;
  /** Who may read it, and so must run the program, for whoever cannot; without it, another is to be named. */
  readers?: string;
  /** How another file is named: `with --config`. */
  naming: string;
  /** Keys that must be in an order; none by default. */
  orders?: readonly KeyOrder[];
}

/** A configuration file whose keys have been validated, each by itself. */
export interface ConfigFile<Settings> {
  /** JSON pointers of the values that the file itself has, with their lines. */
  lines: YamlSource['lines'];
  /** The top-level settings without a problem, so that a rule over several settings sees no invalid one. */
  valid: Partial<Settings>;
  /** The settings; throws ConfigInvalid with the problems of single keys and these others. */
  settingsUnless: (otherProblems: readonly KeyProblem[]) => Settings;
}

/** Reads a configuration file; throws ConfigInvalid if it holds no keys at all. */
export function readConfigFile<Settings>(path: string, format: ConfigFormat): ConfigFile<Settings> {
  const source = parseYamlSource(readText(path, format));
  if (source.values === undefined) throw new ConfigInvalid(path, source.problems);
  const values = source.values ?? {};
  if (!isObject(values))
    throw new ConfigInvalid(path, [{ line: 1, key: '', message: `must hold keys, such as \`${format.example}\`` }]);

  const { orders = [] } = format;
  const isGiven = (key: string) => source.lines.has(pointerOf(key));
  const merged = orderDefaults(orders, mergeDefaults(format.table, values), isGiven);
  const keyProblems = validateKeys(format, merged, source);
  const settingsUnless = (otherProblems: readonly KeyProblem[]) => {
    const ordered = orderProblems(orders, validPart(merged, keyProblems), isGiven);
    const located = [...otherProblems, ...ordered].map((each) => ({
      ...each,
      line: lineOf(source.lines, pointerOf(each.key)),
    }));
    const problems = [...source.problems, ...keyProblems, ...located];
    if (problems.length > 0) throw new ConfigInvalid(path, problems, validPart(merged, problems));
    return merged as Settings;
  };
  return { lines: source.lines, valid: validPart(merged, keyProblems) as Partial<Settings>, settingsUnless };
}

/** The JSON pointer of a known key, whose names have neither dots nor slashes. */
function pointerOf(key: string): string {
  return `/${key.replaceAll('.', '/')}`;
}

/** Freezes a value with everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

function readText(path: string, { naming, readers = `name another ${naming}` }: ConfigFormat): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegularFile(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    const readErrors: Record<string, string> = {
      EACCES: `is not readable by this user; ${readers}`,
      ENOENT: `does not exist; write it, or name another file ${naming}`,
      EISDIR: `is a directory; name a file ${naming}`,
      ENOTREG: `is not a regular file; name one ${naming}`,
      ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
    };
    throw new ConfigInvalid(path, [{ line: null, key: '', message: readErrors[code] ?? `cannot be read (${code})` }]);
  }
}

function validPart(merged: Record<string, unknown>, problems: readonly ConfigProblem[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(merged).filter(([key]) => problems.every((problem) => problem.key.split('.')[0] !== key)),
  );
}

/** Status of a PEM file of certificates; `unreadable` carries the error code. */
type CertificateFileStatus = 'good' | 'missing' | 'not PEM' | `unreadable (${string})`;

/** Checks a file of certificates: it needs at least one, and every PEM block must be one. No file is good, too. */
export function inspectCertificateFile(path: string | null | undefined): CertificateFileStatus {
  if (!path) return 'good';
  try {
    return isPem(readRegularFile(path).toString('latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'missing' : `unreadable (${code})`;
  }
}

/** The problem of a key whose value is such a file, if there is one. */
export function certificateProblems(
  key: string,
  path: string | null | undefined,
  status = inspectCertificateFile(path),
): KeyProblem[] {
  return status === 'good' ? [] : [{ key, message: `must be a readable PEM file; ${path ?? ''} is ${status}` }];
}

function isPem(text: string): boolean {
  const blocks = pemCertificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => parseCertificate(block) !== null);
}
