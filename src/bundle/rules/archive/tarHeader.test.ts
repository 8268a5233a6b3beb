import { paxRecord, tarEntry, type HeaderFields } from '../../../../fixtures/bundles/tarBlocks.ts';
import { parseHeader, parseLongName, parsePax, quoteForLog } from './tarHeader.ts';

const header = (name: string | Buffer, fields?: HeaderFields) =>
  parseHeader(tarEntry(name, '', fields).subarray(0, 512));
const pax = (text: string, global = false) => parsePax(Buffer.from(text), global);
const refusal = (detail: string, cure = 'pack it anew, as deployctl bundle pack does') =>
  new Error(`refused: BUNDLE_UNSAFE: ${detail}: ${cure}`);

describe('a header is parsed', () => {
  it.each<[string, HeaderFields, object]>([
    ['with a type of NUL', { type: '\0' }, { type: '0' }],
    ['with a type beyond ASCII', { type: '\xe9' }, { type: '\xe9' }],
    ['of a symbolic link', { type: '2', link: 'target' }, { type: '2' }],
    ['of the GNU form', { magic: 'ustar  \0' }, { name: 'a' }],
    ['with a size', { size: '00000001750\0' }, { size: 1000 }],
    ['with a size in all 12 bytes', { size: '000000001750' }, { size: 1000 }],
    ['with a size between spaces', { size: '  1750   \0\0\0' }, { size: 1000 }],
    ['with a mode', { mode: '0000755' }, { mode: 0o755 }],
    ['with a prefix', { prefix: 'dir/of' }, { name: 'dir/of/a' }],
    ['with a prefix of 130 bytes', { prefix: 'p'.repeat(130) }, { name: `${'p'.repeat(130)}/a` }],
    ['with a prefix of 155 bytes', { prefix: 'p'.repeat(155) }, { name: `${'p'.repeat(155)}/a` }],
    [
      'with a prefix before times',
      { prefix: `${'p'.repeat(130)}\0${'0'.repeat(24)}` },
      { name: `${'p'.repeat(130)}/a` },
    ],
    ['with an empty owner', { uid: '\0'.repeat(8) }, { name: 'a' }],
    ['with an owner after spaces', { uid: '  1750 \0' }, { name: 'a' }],
    ['with an owner in binary form', { uid: '\x80\0\0\0\xff\xff\xff\xff' }, { name: 'a' }],
    ['with a time before 1970', { mtime: `${'\xff'.repeat(11)}\xfb` }, { name: 'a' }],
    ['with a time in the far future', { mtime: '\x80\0\0\0\0\0\0\x01\0\0\0\0' }, { name: 'a' }],
    ['of the old form', { magic: '\0'.repeat(8) }, { name: 'a' }],
    ['with a time in binary form', { mtime: '\x80\0\0\0\0\0\0\0\0\n\0\xff' }, { name: 'a' }],
  ])('%s', (_title, fields, expected) => {
    expect(header('a', fields)).toEqual({ name: 'a', type: '0', mode: 0o644, size: 0, ...expected });
  });

  it('with a name in all 100 bytes', () => {
    expect(header('é'.repeat(50)).name).toBe('é'.repeat(50));
  });
});

describe('a header is refused', () => {
  const notNumber = 'a header holds an owner or a time that is not a number';
  const notOctal = 'a header holds a number that is not octal';
  it.each<[string, HeaderFields, string]>([
    ['with another checksum', { checksum: 8 }, 'a header is damaged: its checksum is wrong'],
    ['with an owner that is text', { uid: 'x0000000' }, notNumber],
    ['with an owner after NUL', { uid: '\x000000000' }, notNumber],
    ['with text after an owner', { uid: '0000000x' }, notNumber],
    ['with an owner of 64 bits', { uid: '\x80\x01\0\0\0\0\0\0' }, notNumber],
    ['with a decimal owner', { uid: '0000008\0' }, notNumber],
    ['with a time that is text', { mtime: 'x0000000000\0' }, notNumber],
    ['with text before a size', { size: 'x000000000\0' }, notOctal],
    ['with text after a size', { size: '00000000x\0\0\0' }, notOctal],
    ['without a size', { size: '\0'.repeat(12) }, notOctal],
    ['of an unknown form', { magic: 'ustar\x0001' }, 'a header is neither of the POSIX nor of the GNU form'],
    ['of the GNU form with a prefix', { magic: 'ustar  \0', prefix: 'p' }, 'a header of the GNU form has a prefix'],
    ['of a file with a link target', { link: 't' }, '"a" carries the target of a link'],
    ['of a directory with a link target', { type: '5', link: 't' }, '"a" carries the target of a link'],
  ])('%s', (_title, fields, detail) => {
    expect(() => header('a', fields)).toThrow(refusal(detail));
  });

  it.each([
    ['text after a NUL', 'a\0b', 'a name holds a NUL'],
    ['nothing but text after a NUL', '\0b', 'a name holds a NUL'],
    ['bytes that are not UTF-8', Buffer.from([0xff]), 'a name is not UTF-8'],
  ])('with %s in its name', (_title, name, detail) => {
    expect(() => header(name)).toThrow(refusal(detail));
  });
});

describe('a long name', () => {
  it('ends with a NUL, and keeps a byte order mark', () => {
    expect(parseLongName(Buffer.from('\ufeffé\0'))).toEqual({ name: '\ufeffé', size: null });
  });

  it.each(['name', 'na\0me\0', 'name\0\0', ''])('%j is refused', (text) => {
    expect(() => parseLongName(Buffer.from(text))).toThrow(refusal('a long name is not one string'));
  });
});

describe('a pax header is parsed', () => {
  it.each<[string, [string, string][], object]>([
    ['a path', [['path', 'a=b/é']], { name: 'a=b/é' }],
    ['an empty path', [['path', '']], { name: '' }],
    ['a size', [['size', '9'.repeat(15)]], { size: 999_999_999_999_999 }],
    [
      'times',
      [
        ['atime', '1'],
        ['ctime', '12345678901.123456789'],
        ['mtime', '-1.5'],
      ],
      {},
    ],
    [
      'owners',
      [
        ['uid', '0'],
        ['gid', '18446744073709551615'],
        ['uname', 'x'],
        ['gname', 'x'],
      ],
      {},
    ],
    [
      'device numbers',
      [
        ['SCHILY.dev', '1'],
        ['SCHILY.ino', '2'],
        ['SCHILY.nlink', '3'],
      ],
      {},
    ],
    [
      'what libarchive adds',
      [
        ['LIBARCHIVE.creationtime', '1'],
        ['LIBARCHIVE.xattr.com.apple.provenance', 'AQIA'],
        ['SCHILY.xattr.com.apple.provenance', '\x01\0\n\xff'],
        ['SCHILY.acl.access', 'user::rw-'],
        ['SCHILY.fflags', 'nodump'],
        ['RHT.security.selinux', 'system_u:object_r:x:s0'],
        ['MSWINDOWS.rawsd', 'AQIA'],
        ['hdrcharset', 'BINARY'],
        ['comment', 'x'],
      ],
      {},
    ],
  ])('with %s', (_title, records, expected) => {
    const text = records.map(([key, value]) => paxRecord(key, value)).join('');
    expect(pax(text)).toEqual({ name: null, size: null, ...expected });
  });

  it.each(['comment', 'uname', 'VENDOR.tool'])('with %s for a whole archive', (key) => {
    expect(pax(paxRecord(key, 'x'), true)).toEqual({ name: null, size: null });
  });
});

describe('a pax header is refused', () => {
  it.each([
    ['another key', 'linkpath', '/etc', 'the pax record "linkpath" is not allowed'],
    ['a key of one letter', 'x', '1', 'the pax record "x" is not allowed'],
    ['other data', 'SUN.holesdata', 'x', 'the pax record "SUN.holesdata" is not allowed'],
    ['another size', 'SCHILY.realsize', '1', 'the pax record "SCHILY.realsize" is not allowed'],
    ['a vendor without a key', 'VENDOR.', '1', 'the pax record "VENDOR." is not allowed'],
    ['names in another encoding', 'hdrcharset', 'ISO-IR 8859 1 1998', 'the pax record "hdrcharset" has no valid value'],
    ['an access time that is text', 'atime', 'x', 'the pax record "atime" has no valid value'],
    ['a change time that is text', 'ctime', 'x', 'the pax record "ctime" has no valid value'],
    ['a size that is no number', 'size', '1.', '"1." is not a size'],
    ['a size after text', 'size', 'x1', '"x1" is not a size'],
    ['a size of 16 digits', 'size', '1'.repeat(16), `"${'1'.repeat(16)}" is not a size`],
    ...['x1', '1x', '1.', '.1', '1.x', '--1', '12345678901234567890'].map((value) => [
      `a time of ${value}`,
      'mtime',
      value,
      'the pax record "mtime" has no valid value',
    ]),
    ...['x1', '1x', '', '-1', '184467440737095516150'].map((value) => [
      `an owner of ${value}`,
      'gid',
      value,
      'the pax record "gid" has no valid value',
    ]),
    ['a NUL', 'path', 'a\0b', 'the pax record "path" holds a NUL or a newline'],
    ['a newline in a key', 'pa\nth', 'a', 'the pax record "pa\\nth" holds a NUL or a newline'],
  ] as [string, string, string, string][])('with %s', (_title, key, value, detail) => {
    expect(() => pax(paxRecord(key, value))).toThrow(refusal(detail));
  });

  it('with more records than any archiver writes', () => {
    const records = Array.from({ length: 1001 }, (_, index) => paxRecord(`VENDOR.${index}`, '1')).join('');
    expect(() => pax(records)).toThrow(refusal('a pax header has more than 1000 records'));
  });

  it('as a sparse file', () => {
    const cure = 'pack it as an ordinary file (tar without --sparse, bsdtar --no-read-sparse)';
    expect(() => pax(paxRecord('GNU.sparse.major', '1'))).toThrow(refusal('an entry is a sparse file', cure));
  });

  it('with a record twice, or with more than a comment for a whole archive', () => {
    expect(() => pax(paxRecord('path', 'a').repeat(2))).toThrow(refusal('the pax record "path" occurs twice'));
    expect(() => pax(paxRecord('path', 'a'), true)).toThrow(
      refusal('the pax record "path" is not allowed for a whole archive'),
    );
  });

  it.each([
    ...['x', '9', '9 path=a', '9 path=a\n\n', '8 path=a\n', '11 path=a\n', '09 path=a\n', ' 9 path=a\n', '9x path=a\n'],
    ...[
      '4 =\n',
      '7 =a=b\n',
      '6 path\n',
      '3 \n',
      'x9 path=\n',
      '0000009 path=a\n',
      '1000000 path=a\n',
      '7 a=b\n7 path=a\n',
    ],
  ])('as malformed: %j', (text) => {
    expect(() => pax(text)).toThrow(refusal('a pax header is malformed'));
  });
});

it('quotes at most 100 characters of untrusted text, and what is not ASCII as question marks', () => {
  expect(quoteForLog('a"\\\n~ é')).toBe(String.raw`"a\"\\\n~ ?"`);
  expect(quoteForLog('x'.repeat(100))).toBe(`"${'x'.repeat(100)}"`);
  expect(quoteForLog('x'.repeat(101))).toBe(`"${'x'.repeat(100)}…"`);
});
