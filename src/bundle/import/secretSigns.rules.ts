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

/** Bits for each character, below which a text is made of words. */
const randomEntropy = 3.4;

/** Long, of letters and digits without a structure, and no word repeats in it. */
function isRandomText(value: string): boolean {
  const isDense = /^[A-Za-z\d+/_=-]{24,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
  if (!isDense || !value.split(/[-_/]/).some((part) => part.length >= 20)) return false;
  const counts = [...new Set(value)].map((character) => value.split(character).length - 1);
  const entropy = counts.reduce((bits, count) => bits - (count / value.length) * Math.log2(count / value.length), 0);
  return entropy >= randomEntropy;
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
  return withoutOverlaps([...shapesIn(text), ...settingsIn(text, [option, assignment]), ...argumentsIn(text)]);
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

/** Patterns of the tokens of services by the names of their variables. */
const tokens = Object.entries(tokenRules.patterns);

const token = new RegExp(
  String.raw`(?<![A-Za-z0-9_-])(?:${tokens.map(([, pattern]) => `(${pattern})`).join('|')})(?![A-Za-z0-9])`,
  'g',
);
const privateKey =
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-$][^$]{0,9999}?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[^-$]{0,9999})/g;
const urlPassword =
  /(?<![A-Za-z\d])(?<scheme>[A-Za-z][\w+.-]{0,30}):\/\/[^\s/@:?#"'$]{0,100}:(?<secret>[^\s/@$"'\u0001]+)@/dg;
/** As in htpasswd; a dollar sign may be doubled. */
const passwordHash = /\$\$?(?:apr1|2[aby]|[156y])\$\$?(?:[\w./=,-]+\$\$?){0,4}[\w./]{20,90}/g;

/** Tokens of placeholders have few different characters. */
const leastCharacters = 8;

function shapesIn(text: string): SecretPart[] {
  const found = [...text.matchAll(token)].flatMap(({ 0: all, index, ...groups }) => {
    const group = tokens.findIndex((_, at) => groups[at + 1] !== undefined);
    const name = tokens[group]?.[0] ?? 'TOKEN';
    return new Set(all).size < leastCharacters ? [] : [{ start: index, end: index + all.length, name }];
  });
  const whole = (pattern: RegExp, name: string) =>
    [...text.matchAll(pattern)].map(({ 0: all, index }) => ({ start: index, end: index + all.length, name }));
  const urls = [...text.matchAll(urlPassword)].flatMap((match) =>
    partOf(match, `${/^https?$/i.test(match.groups?.['scheme'] ?? '') ? 'URL' : match.groups?.['scheme']}_PASSWORD`),
  );
  return [...found, ...whole(privateKey, 'PRIVATE_KEY'), ...whole(passwordHash, 'PASSWORD_HASH'), ...urls];
}

/** Stands for the characters of a variable, so that no secret contains them. */
export const hidden = '\u0001';
const ends = '\\s"\'`;,|&<>()';
const plain = `[^${ends}{}$${hidden}]`;
/** A value in quotes, or up to a blank or a separator; nothing with a dollar sign. */
const value = `(?:"(?<double>[^"$${hidden}\\n]+)"|'(?<single>[^'$${hidden}\\n]+)'|(?<plain>(?!-)${plain}+)(?=[${ends}]|$))`;
const option = new RegExp(String.raw`(?<![\w-])--?(?<name>[A-Za-z][\w.-]{0,100})(?:=|[ \t]+)${value}`, 'dg');
const assignment = new RegExp(
  String.raw`(?<![\w.$-])(?<name>[A-Za-z_][\w.-]{0,100})[ \t]{0,9}=[ \t]{0,9}${value}`,
  'dg',
);
/** Of YAML, JSON and the like. */
const entry = new RegExp(
  String.raw`^[ \t{,-]*["']?(?<name>[A-Za-z_][\w.-]{0,100})["']?[ \t]{0,9}:[ \t]{0,9}${value}`,
  'dgm',
);
/** Of Redis and similar servers. */
const directive = new RegExp(String.raw`^[ \t]*(?<name>requirepass|masterauth)[ \t]+${value}`, 'dgim');
const sqlPassword = new RegExp(
  String.raw`\b(?<name>PASSWORD|IDENTIFIED(?: WITH \w{1,50})? BY)[ \t]+(?=')${value}`,
  'dgi',
);

/** Names of settings whose value is a secret, and not only a key to look something up. */
const strongName =
  /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?<!BY|COM|SUR)PASS$|(^|_)PWD$|TOKEN$/;

function settingsIn(text: string, patterns: readonly RegExp[]): SecretPart[] {
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap((match) => {
      const { name = '' } = match.groups ?? {};
      const words = wordsOf(name).join('_');
      const isNamed = /^(masterauth|identified .*)$/i.test(name) || (isSecretName(name) && strongName.test(words));
      return isNamed ? partOf(match, words, /PASS|PWD|SECRET/.test(words)) : [];
    }),
  );
}

/** Options of one letter, and other places of passwords in the arguments of widely used programs. */
const programArguments: readonly [name: string, pattern: RegExp][] = [
  ['MYSQL_PASSWORD', new RegExp(String.raw`\b(?:mysql|mariadb)[\w-]{0,30}\b[^;|&\n]{0,200}?\s-p${value}`, 'dg')],
  ['REDIS_PASSWORD', new RegExp(String.raw`\b(?:redis|valkey)-cli\b[^;|&\n]{0,200}?\s-a\s+${value}`, 'dg')],
  ['MONGO_PASSWORD', new RegExp(String.raw`\bmongo[a-z]{0,20}\b[^;|&\n]{0,200}?\s-p\s+${value}`, 'dg')],
  ['MSSQL_PASSWORD', new RegExp(String.raw`\bsqlcmd\b[^;|&\n]{0,200}?\s-P\s*${value}`, 'dg')],
  [
    'MINIO_PASSWORD',
    new RegExp(String.raw`\bmc\s+(?:alias\s+set|config\s+host\s+add)(?:\s+[^\s;|&()]+){3}[ \t]+${value}`, 'dg'),
  ],
  [
    'CURL_PASSWORD',
    /\bcurl\b[^;|&\n]{0,200}?\s(?:-[A-Za-z]{0,9}u|--user)[\s=]+["']?[^\s:"'$]{1,100}:(?<secret>[^\s"'$\u0001]+)/dg,
  ],
  ['AUTHORIZATION', /\bAuthorization:\s{0,5}(?:Basic|Bearer|Token)\s{1,5}(?<secret>[\w=~@.+/-]{8,2000})/dgi],
  ['API_KEY', /\bX-(?:[A-Za-z]{1,30}-){0,3}(?:Key|Token):\s{0,5}(?<secret>[\w=~@.+/-]{8,2000})/dgi],
];

function argumentsIn(text: string): SecretPart[] {
  return programArguments.flatMap(([name, pattern]) =>
    [...text.matchAll(pattern)].flatMap((match) => partOf(match, name)),
  );
}

/** The secret of a match; none for a switch, a path or a placeholder, and for a number only where it may be one. */
function partOf(match: RegExpExecArray, name: string, mayBeNumber = true): SecretPart[] {
  const found = ['secret', 'double', 'single', 'plain'].find((group) => match.groups?.[group] !== undefined) ?? '';
  const [start, end] = match.indices?.groups?.[found] ?? [0, 0];
  const text = match.input.slice(start, end);
  const isPlaceholder = /^[<{%*[!]|^(\.{3}|x+)$/i.test(text);
  if (isNoSecretValue(text) || isPlaceholder || (!mayBeNumber && /^[\d.]+\w?$/.test(text))) return [];
  return [{ start, end, name: name.toUpperCase().replace(/[^A-Z\d]+/g, '_') }];
}

/** In their order; of parts that overlap, the longest. */
function withoutOverlaps(parts: readonly SecretPart[]): SecretPart[] {
  const kept: SecretPart[] = [];
  for (const part of parts.toSorted((one, other) => other.end - other.start - (one.end - one.start)))
    if (kept.every(({ start, end }) => part.end <= start || part.start >= end)) kept.push(part);
  return kept.toSorted((one, other) => one.start - other.start);
}
