/** Whether the name of a variable says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .split(/[^A-Z\d]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  if (propertyWords.has(last) || words.includes('PUBLIC') || name === 'PWD') return false;
  return (
    words.some((word) => secretWord.test(word)) || secretLastWord.test(last) || /ACCESS_?KEY/.test(words.join('_'))
  );
}

/** Whether a value looks like a secret, whatever its name. */
export function isSecretValue(value: string): boolean {
  return holdsUrlPassword(value) || holdsPrivateKey(value) || isRandomText(value);
}

/** Whether a value is none, although its name says that it is a secret: a switch, nothing, or the path of a file. */
export function isNoSecretValue(value: string): boolean {
  return /^(|true|false|yes|no|on|off|none|null|disabled|enabled|[01yn]|\.{0,2}\/\S*)$/i.test(value);
}

/** Whether a text holds a private key in PEM. */
export function holdsPrivateKey(text: string): boolean {
  return /-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----/.test(text);
}

/** Words that hold wherever they stand in a name. */
const secretWord = /PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|^TOKENS?$|^APIKEYS?$/;
/** Words that hold at the end of a name. */
const secretLastWord = /(?<!BY|COM|SUR)PASS$|^(PWD|KEYS?|AUTH|SALT|DSN|PRIVATE|\w+TOKEN)$/;
/** Last words of names that tell something about a secret. */
const propertyWords = new Set(
  (
    'FILE FILES PATH DIR DIRECTORY LOCATION TTL EXPIRY EXPIRE EXPIRES EXPIRATION LIFETIME AGE LENGTH SIZE MIN MAX ' +
    'ENABLED ENABLE DISABLED REQUIRED ALLOWED METHOD METHODS TYPE MODE ALGORITHM ALG NAME URL URI HOST PORT USER USERNAME ' +
    'PREFIX SUFFIX HEADER ISSUER AUDIENCE TIMEOUT INTERVAL SECONDS MINUTES HOURS DAYS POLICY PLUGIN COUNT LIMIT STORE ' +
    'ENDPOINT ENCODER REGEX PATTERN PROVIDER DRIVER BACKEND FORMAT VERSION STRATEGY SCOPE SCOPES'
  ).split(' '),
);

/** A literal password in the userinfo of a URL. */
function holdsUrlPassword(value: string): boolean {
  return /:\/\/[^\s/@:?#]*:(?!\$)[^\s/@]+@/.test(value);
}

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
