import { closestMatch, encodingFault, formatSkew, isServiceUrl, printable, terminalSafe } from './text.rules.ts';

it.each([
  ['transprot', 'transport'],
  ['Interval_S', 'interval_s'],
  ['headrom_bytes', 'headroom_bytes'],
  ['prot', 'port'],
  ['prts', 'port'],
])('matches %s with %s', (word, meant) => {
  expect(closestMatch(word, ['transport', 'interval_s', 'headroom_bytes', 'pool', 'port'])).toBe(meant);
});

it.each([
  ['t', 'port', 'abcd'],
  ['abc', 'abx', 'bax'],
  ['ab', 'abc', 'bc'],
  ['ab', 'abc', 'ca'],
  ['ab', 'ba', 'bc'],
  ['abc', 'a', 'axxc1'],
  ['abcd', 'bacd', 'badc'],
])('%s is nearer to %s than to %s', (word, nearer, farther) => {
  expect(closestMatch(word, [farther, nearer])).toBe(nearer);
  expect(closestMatch(word, [nearer, farther])).toBe(nearer);
});

it('returns the first of several candidates with the same distance', () => {
  expect(closestMatch('ax', ['bx', 'cx'])).toBe('bx');
});

it.each([
  ['plain: ü 東 🚀', 'plain: ü 東 🚀'],
  ['a\x1b[2J', 'a [2J'],
  ['a\r\n\tb', 'a b'],
  ['\u0085a\x7f', ' a '],
])('%j becomes %j', (text, safe) => {
  expect(terminalSafe(text)).toBe(safe);
});

it.each([
  [12, '12 s ahead of'],
  [-12, '12 s behind'],
  [0, '0 s behind'],
])('a skew of %i s puts this host %s the server', (skewS, words) => {
  expect(formatSkew(skewS)).toBe(words);
});

it('keeps 80 characters, and shows each control character as one replacement', () => {
  expect(printable('é'.repeat(80))).toBe('é'.repeat(80));
  expect(printable('é'.repeat(81))).toBe(`${'é'.repeat(80)}…`);
  expect(printable('a\n\u001b\u2028\u200bb')).toBe('a\ufffd\ufffd\ufffd\ufffdb');
});

const bigEndian = (text: string) => Buffer.from(text, 'utf16le').swap16();
const utf32 = (text: string) => Buffer.concat(text.split('').map((each) => Buffer.from(`${each}\0`, 'utf16le')));

it.each<[string, Buffer, string | null]>([
  ['an empty text', Buffer.alloc(0), null],
  ['UTF-8', Buffer.from('services: {é}'), null],
  ['UTF-8 with a byte order mark', Buffer.from('\ufeffservices:'), null],
  ['UTF-8 with a NUL', Buffer.from('a: \0'), null],
  ['UTF-16', Buffer.from('\ufeffa: é', 'utf16le'), 'is UTF-16'],
  ['UTF-16, big-endian', bigEndian('\ufeffa: é'), 'is UTF-16'],
  ['UTF-16 without a byte order mark', Buffer.from('a: é', 'utf16le'), 'is UTF-16'],
  ['UTF-16, big-endian, without a byte order mark', bigEndian('a: é'), 'is UTF-16'],
  ['UTF-32', utf32('\ufeffa: é'), 'is UTF-32'],
  ['UTF-32 without a byte order mark', utf32('a: é'), 'is UTF-32'],
  ['Latin-1', Buffer.from('a: é', 'latin1'), 'is not UTF-8'],
])('reports the encoding of %s', (_title, bytes, fault) => {
  expect(encodingFault(bytes.toString('utf8'))).toBe(fault);
});

it.each([
  'https://user:pass@tenancy.example',
  'https://tenancy.example/a@b',
  'https://tenancy.example/?a=1',
  'https://tenancy.example/#a',
  'https://tenancy.example?',
  'https://tenancy.example\\a',
  'https://tenancy.example/a\\b',
  'https://tenancy.example/a b',
  'https://tenancy.example\t',
  'https:///tenancy.example',
  'https://',
  'ftp://tenancy.example',
  'xhttps://tenancy.example',
  'https:tenancy.example',
  'https://tenancy.example:99999',
  'tenancy.example',
])('%j is not a base address', (address) => {
  expect(isServiceUrl(address)).toBe(false);
});

it.each(['https://tenancy.example', 'http://[::1]:8080/', 'https://a/base/b'])('%j is a base address', (address) => {
  expect(isServiceUrl(address)).toBe(true);
});
