import { occupiedBy, type OccupiedPaths, parentsOf, validateEntry } from './archiveEntries.rules.ts';

const taken = (...entries: [path: string, kind: 'file' | 'directory'][]): OccupiedPaths =>
  new Map(entries.flatMap(([path, kind]) => occupiedBy({ path, kind, mode: 0, size: 0 })));
const nothing = taken();
const faultWith = (text: string) => ({
  text: expect.stringContaining(text) as string,
  cure: expect.stringMatching(/./) as string,
});
const some = taken(['conf', 'file'], ['dir', 'directory'], ['deep/er/file', 'file'], ['Straße', 'file'], ['é', 'file']);

describe('an entry is accepted', () => {
  it.each([
    ['a', '0', 'a', 'file'],
    ['./a', '0', 'a', 'file'],
    ['./', '5', '', 'directory'],
    ['.', '5', '', 'directory'],
    ['dir/', '5', 'dir', 'directory'],
    ['dir/', '0', 'dir', 'directory'],
    ['./', '0', '', 'directory'],
    ['a//b', '0', 'a/b', 'file'],
    ['a/./b', '0', 'a/b', 'file'],
    ['././a', '0', 'a', 'file'],
    ['.//a', '0', 'a', 'file'],
    ['a//', '5', 'a', 'directory'],
    ['e\u0301', '0', 'e\u0301', 'file'],
    ['می\u200cشود', '0', 'می\u200cشود', 'file'],
    ['👨\u200d👩\u200d👧', '0', '👨\u200d👩\u200d👧', 'file'],
    ['apple \uf8ff', '0', 'apple \uf8ff', 'file'],
    ['dir', '5', 'dir', 'directory'],
    ['./dir/sub/.hidden', '0', 'dir/sub/.hidden', 'file'],
    ['..a/b..', '0', '..a/b..', 'file'],
    ['.env.example', '0', '.env.example', 'file'],
    ['dir/env', '0', 'dir/env', 'file'],
    ['dir/.deployd', '0', 'dir/.deployd', 'file'],
    ['grüße/日本語 😀', '0', 'grüße/日本語 😀', 'file'],
    [`${'n'.repeat(255)}/a`, '0', `${'n'.repeat(255)}/a`, 'file'],
    [`${'a/'.repeat(63)}bb`, '0', `${'a/'.repeat(63)}bb`, 'file'],
  ])('%j of type %s is %j', (name, type, ...[path, kind]) => {
    expect(validateEntry({ name, type, mode: 0o755, size: 0 }, nothing)).toEqual({ path, kind, mode: 0o755, size: 0 });
  });

  it.each(['conf2', 'deep/er/file2', 'deep/file', 'dir/a', 'STRASSE', 'e\u0301', '\uff43onf'])(
    '%s next to existing paths',
    (name) => {
      expect(validateEntry({ name, type: '0', mode: 0o644, size: 1 }, some)).toMatchObject({ path: name });
    },
  );

  it.each(['deep', 'deep/er/', 'dir', './dir//'])('a directory %s once more', (name) => {
    expect(validateEntry({ name, type: '5', mode: 0o755, size: 0 }, some)).toMatchObject({ kind: 'directory' });
  });
});

describe('an entry is refused for its type', () => {
  it.each([
    ['1', 0o644, 0, 'is a hard link'],
    ['2', 0o777, 0, 'is a symbolic link'],
    ['3', 0o644, 0, 'is a character device'],
    ['4', 0o644, 0, 'is a block device'],
    ['6', 0o644, 0, 'is a FIFO'],
    ['7', 0o644, 0, 'is of the unknown type "7"'],
    ['K', 0o644, 9, 'is a link with a long target'],
    ['S', 0o644, 9, 'is a sparse file'],
    ['D', 0o755, 0, 'is of the unknown type "D"'],
    ['0', 0o4755, 0, 'has a setuid, setgid or sticky bit'],
    ['0', 0o2755, 0, 'has a setuid, setgid or sticky bit'],
    ['0', 0o1755, 0, 'has a setuid, setgid or sticky bit'],
    ['5', 0o755, 1, 'is a directory with content'],
  ])('type %s with mode %o and %i bytes', (type, mode, ...[size, fault]) => {
    expect(validateEntry({ name: 'a', type, mode, size }, nothing)).toEqual(faultWith(`"a" ${fault}`));
  });
});

describe('an entry is refused for its name', () => {
  it.each([
    ['', '0', 'has no name'],
    ['/etc/passwd', '0', 'is an absolute path'],
    ['//a', '0', 'is an absolute path'],
    ['..', '5', 'leads out of the bundle'],
    ['../a', '0', 'leads out of the bundle'],
    ['a/../../b', '0', 'leads out of the bundle'],
    ['a/..', '5', 'leads out of the bundle'],
    ['a/../b', '0', 'leads out of the bundle'],
    ['../..', '5', 'leads out of the bundle'],
    ['.', '0', 'is a file with the name of a directory'],
    ['a/.', '0', 'is a file with the name of a directory'],
    ['.//.env', '0', 'is a .env file'],
    ['.//..', '5', 'leads out of the bundle'],
    ['./.deployd-x', '0', 'takes a name that the agent keeps'],
    ['a\ufeff', '0', 'holds a character that cannot be shown'],
    ['a\\b', '0', 'holds a backslash'],
    ['a\nb', '0', 'holds a character that cannot be shown'],
    ['a\0b', '0', 'holds a character that cannot be shown'],
    ['a\u007f', '0', 'holds a character that cannot be shown'],
    ['a\u0085', '0', 'holds a character that cannot be shown'],
    ['a\u202egnp', '0', 'holds a character that cannot be shown'],
    ['a\u2028', '0', 'holds a character that cannot be shown'],
    ['.env', '0', 'is a .env file'],
    ['./.env', '0', 'is a .env file'],
    ['.env/', '5', 'is a .env file'],
    ['.ENV', '0', 'is a .env file'],
    ['sub/dir/.env', '0', 'is a .env file'],
    ['sub/.Env/a', '0', 'is a .env file'],
    ['\uff0eenv', '0', 'is a .env file'],
    ['.deployd-override.yaml', '0', 'takes a name that the agent keeps'],
    ['.Deployd/a', '0', 'takes a name that the agent keeps'],
    [`a/${'n'.repeat(256)}`, '0', 'has a part longer than 255 bytes'],
    ['é'.repeat(128), '0', 'has a part longer than 255 bytes'],
    ['a/'.repeat(512) + 'b', '0', 'is longer than 1024 bytes'],
    ['a/'.repeat(64) + 'b', '0', 'is below more than 63 directories'],
  ])('%j of type %s', (name, type, fault) => {
    expect(validateEntry({ name, type, mode: 0o644, size: 0 }, nothing)).toEqual(faultWith(fault));
  });
});

describe('an entry is refused for a collision with an earlier one', () => {
  it.each([
    ['conf', '0', 'occurs twice'],
    ['./conf', '0', 'occurs twice'],
    ['conf', '5', 'occurs twice'],
    ['dir', '0', 'occurs twice'],
    ['deep', '0', 'occurs twice'],
    ['conf/a', '0', 'is below the file "conf"'],
    ['Conf/a', '0', 'is below the file "conf"'],
    ['CONF', '0', 'collides with "conf" but for its case'],
    ['Dir/a', '0', 'collides with "dir" but for its case'],
    ['deep/ER/other', '0', 'collides with "deep/er" but for its case'],
    ['É', '0', 'but for its case'],
  ])('%j of type %s', (name, type, fault) => {
    expect(validateEntry({ name, type, mode: 0o644, size: 0 }, some)).toEqual(faultWith(fault));
  });
});

it.each([0o2775, 0o1777])('accepts a directory of mode %o, which no unpacked directory has', (mode) => {
  expect(validateEntry({ name: 'a', type: '5', mode, size: 0 }, nothing)).toMatchObject({ kind: 'directory' });
});

it('shows hostile names escaped and shortened', () => {
  const fault = validateEntry({ name: `a\u001b[2J\u202e\n${'x'.repeat(500)}`, type: '0', mode: 0, size: 0 }, nothing);
  const said = 'text' in fault ? fault.text : '';
  expect(said).toMatch(/^"a\\u001b\[2J\?\\nx+…" holds a character that cannot be shown$/);
  expect(said).toHaveLength(148);
});

it('lists the parent directories of a path', () => {
  expect(parentsOf('a/b/c')).toEqual(['a', 'a/b']);
  expect(parentsOf('a')).toEqual([]);
});
