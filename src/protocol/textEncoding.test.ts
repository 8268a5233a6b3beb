import { encodingFault } from './textEncoding.ts';

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
])('tells the encoding of %s', (_title, bytes, fault) => {
  expect(encodingFault(bytes.toString('utf8'))).toBe(fault);
});
