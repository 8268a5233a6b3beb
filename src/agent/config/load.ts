import { readRegular } from '../../platform/regularFile.ts';
import { inspectAuthority, type Authority } from './authority.ts';
import { ConfigInvalid, type Flaw } from './invalid.ts';
import { isRecord, mergeDefaults } from './merge.ts';
import { judgeShape } from './shape.ts';
import type { Settings } from './settings.ts';
import { agreeOnPort, judgeTogether } from './together.ts';
import { lineOf, parseWritten, type Written } from './written.ts';

/** Reads config.yaml into frozen Settings; throws ConfigInvalid with every flaw in it at once. */
export function loadSettings(path: string): Settings {
  const written = parseWritten(readConfig(path));
  const values = written.values ?? {};
  if (written.values === undefined) throw new ConfigInvalid(path, written.flaws);
  if (!isRecord(values))
    throw new ConfigInvalid(path, [{ line: 1, key: '', text: 'must hold keys, such as `env: eu-1`' }]);

  const merged = mergeDefaults(values);
  const shape = judgeShape(merged, written);
  const sound = soundPart(merged, shape);
  const authorities = inspectAuthorities(sound);
  const together = [
    ...judgeTogether(sound, written.lines.has('/port')),
    ...judgeAuthorities(sound, authorities, written),
  ].map((flaw) => ({ ...flaw, line: lineOf(written.lines, `/${flaw.key}`) }));

  const flaws = [...written.flaws, ...shape, ...together];
  if (flaws.length > 0) throw new ConfigInvalid(path, flaws, soundPart(merged, flaws));
  const settings = agreeOnPort(merged as unknown as Settings);
  return frozen(authorities.secretstore_ca === 'missing' ? { ...settings, secretstore_ca: null } : settings);
}

type AuthorityKey = 'tenancy_ca' | 'secretstore_ca';

function readConfig(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readRegular(path));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw new ConfigInvalid(path, [{ line: null, key: '', text: unreadable[code] ?? `cannot be read (${code})` }]);
  }
}

const unreadable: Record<string, string> = {
  ENOENT: 'does not exist; write it, or name another file with --config',
  EACCES:
    'is not readable by this user; it belongs to root and group deployd with mode 0640, so run as root or deployd',
  EISDIR: 'is a directory; name a file with --config',
  ENOTREG: 'is no regular file; name one with --config',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'is not UTF-8 text',
};

/** The settings that are right taken alone, so that a rule over several of them never judges a wrong one. */
function soundPart(merged: Record<string, unknown>, flaws: readonly Flaw[]): Partial<Settings> {
  return Object.fromEntries(
    Object.entries(merged).filter(([key]) => flaws.every((flaw) => flaw.key.split('.')[0] !== key)),
  );
}

function inspectAuthorities(sound: Partial<Settings>): Record<AuthorityKey, Authority> {
  const found = (path: string | null | undefined) => (path ? inspectAuthority(path) : 'good');
  return { tenancy_ca: found(sound.tenancy_ca), secretstore_ca: found(sound.secretstore_ca) };
}

/** Only the default file may be missing; whatever is there must be good. */
function judgeAuthorities(
  sound: Partial<Settings>,
  found: Record<AuthorityKey, Authority>,
  { lines }: Written,
): Omit<Flaw, 'line'>[] {
  const wrong = (['tenancy_ca', 'secretstore_ca'] as const).filter(
    (key) => found[key] !== 'good' && (found[key] !== 'missing' || lines.has(`/${key}`)),
  );
  return wrong.map((key) => ({ key, text: `must be a readable PEM file; ${sound[key] ?? ''} is ${found[key]}` }));
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
