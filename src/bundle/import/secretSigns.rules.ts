import tokenRules from './secretTokens.json' with { type: 'json' };

/** Whether the name of a variable says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  const last = words.at(-1) ?? '';
  if (propertyWords.has(last) || words.includes('PUBLIC') || name === 'PWD') return false;
  return (
    words.some((word) => secretWord.test(word)) || secretLastWord.test(last) || /ACCESS_?KEY/.test(words.join('_'))
  );
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .split(/[^A-Z\d]+/)
    .filter((word) => word !== '');
}

/** Whether a value looks like a secret, or contains one, whatever its name. */
export function isSecretValue(value: string): boolean {
  return isRandomText(value) || /:\/\/[^\s/@:?#]*:(?!\$)[^\s/@]+@/.test(value) || secretPartsIn(value).length > 0;
}

/** Whether a value is not a secret, although its name looks like one: a switch, nothing, or the path of a file. */
export function isNoSecretValue(value: string): boolean {
  return /^(|true|false|yes|no|on|off|none|null|disabled|enabled|[01yn]|\.{0,2}\/\S*)$/i.test(value);
}

/** Words that count anywhere in a name. */
const secretWord = /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|^TOKENS?$|^APIKEYS?$/;
/** Words that hold at the end of a name. */
const secretLastWord = /(?<!BY|COM|SUR)PASS$|^(PWD|KEYS?|AUTH|SALT|DSN|PRIVATE|\w+TOKEN)$/;
/** Last words of names that describe a secret, such as its place. */
const propertyWords = new Set(
  (
    'FILE FILES PATH DIR DIRECTORY LOCATION TTL EXPIRY EXPIRE EXPIRES EXPIRATION LIFETIME AGE LENGTH SIZE MIN MAX ' +
    'ENABLED ENABLE DISABLED REQUIRED ALLOWED METHOD METHODS TYPE MODE ALGORITHM ALG NAME URL URI HOST PORT USER USERNAME ' +
    'PREFIX SUFFIX HEADER ISSUER AUDIENCE TIMEOUT INTERVAL SECONDS MINUTES HOURS DAYS POLICY PLUGIN COUNT LIMIT STORE ' +
    'ENDPOINT ENCODER REGEX PATTERN PROVIDER DRIVER BACKEND FORMAT VERSION STRATEGY SCOPE SCOPES STDIN ENV VAR'
  ).split(' '),
);

/** Fewer different characters make words. */
const leastRandomCharacters = 11;

/** Long, of letters and digits without a structure, and no word repeats in it. */
function isRandomText(value: string): boolean {
  const isDense = /^[A-Za-z\d+/_=-]{24,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
  const isLong = value.split(/[-_/]/).some((part) => part.length >= 20);
  return isDense && isLong && new Set(value).size >= leastRandomCharacters;
}

/** A part of a text that is a secret, and a name for it. */
export interface SecretPart {
  start: number;
  end: number;
  name: string;
}

/**
 * Parts of a text that are secrets: keys, tokens of known services, passwords of URLs, and values of options and of
 * `NAME=VALUE` whose names say so. A part never contains a dollar sign, except for the hash of a password.
 */
export function secretPartsIn(text: string): SecretPart[] {
  const words = programArguments.flatMap(([program, pattern]) => partsBy(pattern, text, () => program));
  return withoutOverlaps([...shapesIn(text), ...settingsIn(text, [option, assignment]), ...words]);
}

/**
 * Whether a file holds a secret. In a file of settings a value is one by its name, unless it is a text of words; in
 * documentation and examples, private keys are.
 */
export function holdsSecret(path: string, text: string): boolean {
  if (isSecretFile(path, text)) return true;
  const isText = /\.(md|rst|adoc|example|sample)$/i.test(path);
  const shapes = shapesIn(text).filter(({ name }) => !isText || name === 'PRIVATE_KEY');
  const isPlaceholder = (value: string) => /\s|^(pass|password|your\W.*)$/i.test(value);
  if (shapes.some(({ start, end, name }) => name === 'PRIVATE_KEY' || !isPlaceholder(text.slice(start, end))))
    return true;
  const lines = text.replace(/^[ \t]*(#|\/\/|;|--|<!--|\*).*$/gm, '');
  const settings = settingsFile.test(path) ? settingsIn(lines, [assignment, entry, directive, sqlPassword]) : [];
  return settings.some(({ start, end, name }) => {
    const value = lines.slice(start, end);
    return !isPlaceholder(value) && wordsOf(value).join('_') !== name;
  });
}

/** Whether the name of a file, such as `db_password.txt` or `.pgpass`, says that each of its lines, of one word, is a secret. */
function isSecretFile(path: string, text: string): boolean {
  const lines = text.split('\n').filter((line) => !/^\s*(#.*)?$/.test(line));
  const [, name = ''] = /([^/]+?)(?:\.txt)?$/.exec(path) ?? [];
  return (
    isSecretName(name) &&
    lines.length > 0 &&
    lines.every((line) => /^\S+\s*$/.test(line) && !isNoSecretValue(line.trim()))
  );
}

const settingsFile = /\.(conf|cnf|cfg|ini|toml|ya?ml|json|properties|env|sh|sql|acl|hcl)$|(^|\/)[^/.]+$/i;

const urlPassword =
  /(?<![A-Za-z\d])(?<scheme>[A-Za-z][\w+.-]{0,30}):\/\/[^\s/@:?#"'$]{0,100}:(?<secret>[^\s/@$"'\u0001]+)@/dg;
const ownShapes = {
  PRIVATE_KEY:
    '-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-$][^$]{0,9999}?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[^-$]{0,9999})',
  /** As in htpasswd; a dollar sign may be doubled. */
  PASSWORD_HASH: String.raw`\$\$?(?:apr1|2[aby]|[156y])\$\$?(?:[\w./=,-]+\$\$?){0,4}[\w./]{20,90}`,
};

function groupsOf(patterns: Readonly<Record<string, string>>): string {
  return Object.entries(patterns)
    .map(([name, pattern]) => `(?<${name}>${pattern})`)
    .join('|');
}

const shape = new RegExp(`(?<![\\w-])(?:${groupsOf(tokenRules.patterns)})(?![A-Za-z0-9])|${groupsOf(ownShapes)}`, 'g');

/** Tokens of placeholders have few different characters. */
const leastCharacters = 8;

function shapesIn(text: string): SecretPart[] {
  const found = [...text.matchAll(shape)].flatMap(({ 0: all, index, groups = {} }) => {
    const name = Object.keys(groups).find((group) => groups[group] !== undefined) ?? '';
    return new Set(all).size < leastCharacters ? [] : [{ start: index, end: index + all.length, name }];
  });
  const urls = partsBy(urlPassword, text, ({ scheme = '' }) => `${/^https?$/i.test(scheme) ? 'URL' : scheme}_PASSWORD`);
  return [...found, ...urls];
}

/** Stands for the characters of a variable, so that no secret contains them. */
export const hidden = '\u0001';
const ends = '\\s"\'`;,|&<>()';
const plain = `[^${ends}{}$${hidden}]`;
/** A value in quotes, or up to a blank or a separator; nothing with a dollar sign. */
const value = `(?:"(?<double>[^"$${hidden}\\n]+)"|'(?<single>[^'$${hidden}\\n]+)'|(?<plain>(?!-)${plain}+)(?=[${ends}]|$))`;
const valueAfter = (before: string, flags = 'dg') => new RegExp(`${before}${value}`, flags);
const settingName = String.raw`(?<name>[A-Za-z_][\w.-]{0,100})`;
const option = valueAfter(String.raw`(?<![\w-])--?${settingName}(?:=|[ \t]+)`);
const assignment = valueAfter(String.raw`(?<![\w.$-])${settingName}[ \t]{0,9}=[ \t]{0,9}`);
/** Of YAML, JSON and the like. */
const entry = valueAfter(String.raw`^[ \t{,-]*["']?${settingName}["']?[ \t]{0,9}:[ \t]{0,9}`, 'dgm');
/** Of Redis and similar servers. */
const directive = valueAfter(String.raw`^[ \t]*(?<name>requirepass|masterauth)[ \t]+`, 'dgim');
const sqlPassword = valueAfter(String.raw`\b(?<name>PASSWORD|IDENTIFIED(?: WITH \w{1,50})? BY)[ \t]+(?=')`, 'dgi');

/** Names of settings whose value is a secret, and not only a key to look something up. */
const strongName =
  /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?<!BY|COM|SUR)PASS$|(^|_)PWD$|TOKEN$/;

function settingsIn(text: string, patterns: readonly RegExp[]): SecretPart[] {
  const secretName = ({ name = '' }: Groups) => {
    const words = wordsOf(name).join('_');
    const isNamed = /^(masterauth|identified .*)$/i.test(name) || (isSecretName(name) && strongName.test(words));
    return isNamed ? words : null;
  };
  return patterns.flatMap((pattern) => partsBy(pattern, text, secretName));
}

/** Other words of a command. */
const words = String.raw`\b[^;|&\n]{0,200}?\s`;

/** Options of one letter, and other places of passwords in the arguments of widely used programs. */
const programArguments: readonly [name: string, pattern: RegExp][] = [
  ['MYSQL_PASSWORD', valueAfter(String.raw`\b(?:mysql|mariadb)[\w-]{0,30}${words}-p`)],
  ['REDIS_PASSWORD', valueAfter(String.raw`\b(?:redis|valkey)-cli${words}-a\s+`)],
  ['MONGO_PASSWORD', valueAfter(String.raw`\bmongo[a-z]{0,20}${words}-p\s+`)],
  ['MSSQL_PASSWORD', valueAfter(String.raw`\bsqlcmd${words}-P\s*`)],
  ['MINIO_PASSWORD', valueAfter(String.raw`\bmc\s+(?:alias\s+set|config\s+host\s+add)(?:\s+[^\s;|&()]+){3}[ \t]+`)],
  [
    'CURL_PASSWORD',
    /\bcurl\b[^;|&\n]{0,200}?\s(?:-[A-Za-z]{0,9}u|--user)[\s=]+["']?[^\s:"'$]{1,100}:(?<secret>[^\s"'$\u0001]+)/dg,
  ],
  ['AUTHORIZATION', /\bAuthorization:\s{0,5}(?:Basic|Bearer|Token)\s{1,5}(?<secret>[\w=~@.+/-]{8,2000})/dgi],
  ['API_KEY', /\bX-(?:[A-Za-z]{1,30}-){0,3}(?:Key|Token):\s{0,5}(?<secret>[\w=~@.+/-]{8,2000})/dgi],
];

type Groups = Readonly<Record<string, string | undefined>>;

/** The secrets that a pattern finds: no switch, path or placeholder, and a number only where it may be one. */
function partsBy(pattern: RegExp, text: string, nameOf: (groups: Groups) => string | null): SecretPart[] {
  return [...text.matchAll(pattern)].flatMap(({ groups = {}, indices }) => {
    const name = nameOf(groups);
    const group = ['secret', 'double', 'single', 'plain'].find((one) => groups[one] !== undefined) ?? '';
    const [start, end] = indices?.groups?.[group] ?? [0, 0];
    const secret = text.slice(start, end);
    const isOther = isNoSecretValue(secret) || /^[<{%*[!]|^(\.{3}|x+)$/i.test(secret);
    if (name === null || isOther || (!/PASS|PWD|SECRET/.test(name) && /^[\d.]+\w?$/.test(secret))) return [];
    return [{ start, end, name: name.toUpperCase().replace(/[^A-Z\d]+/g, '_') }];
  });
}

/** In their order; of parts that overlap, the longest. */
function withoutOverlaps(parts: readonly SecretPart[]): SecretPart[] {
  const kept: SecretPart[] = [];
  for (const part of parts.toSorted((one, other) => other.end - other.start - (one.end - one.start)))
    if (kept.every(({ start, end }) => part.end <= start || part.start >= end)) kept.push(part);
  return kept.toSorted((one, other) => one.start - other.start);
}
