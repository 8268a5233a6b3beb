import { diskFault, isEACCES, isEEXIST, isENOENT, isNotAFile, isNotALink, withDiskFault } from './errors.rules.ts';

const errorOf = (code: unknown) => Object.assign(new Error('the path of a secret'), { code });

it.each([
  ['ENOSPC', 'no space left on the filesystem'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EROFS', 'the filesystem is read-only'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EIO', 'the disk reports an input/output error'],
  ['ENOENT', 'no such file or directory'],
  ['EISDIR', 'it is a directory; move it away'],
  ['ENOTEMPTY', 'it is a directory that is not empty; move it away'],
  ['EEXIST', 'another file has this name; move it away'],
  ['ENOTREG', 'it is not a regular file; move it away'],
  ['EFBIG', 'it is larger than any file that the agent wrote; move it away'],
  ['EMFILE', 'EMFILE'],
  [undefined, 'unknown error'],
  [7, 'unknown error'],
])('says what %s means', (code, reason) => {
  const fault = diskFault('write', '/a', errorOf(code));
  expect([fault.ending, fault.lines]).toEqual(['failed', [`failed: cannot write /a: ${reason}`]]);
});

it('has a code for the report unless something was only read', () => {
  const codes = (['write', 'remove', 'read'] as const).map((doing) => diskFault(doing, '/a', null).code);
  expect(codes).toEqual(['DISK_WRITE_FAILED', 'DISK_WRITE_FAILED', null]);
});

it.each([
  ['ENOSPC', 'DISK_INSUFFICIENT'],
  ['EDQUOT', 'DISK_INSUFFICIENT'],
  ['EIO', 'DISK_WRITE_FAILED'],
])('gives %s the code %s', (code, expected) => {
  expect(diskFault('write', '/a', errorOf(code)).code).toBe(expected);
});

it('passes the result of the work on, and its error as a fault', async () => {
  expect(await withDiskFault('read', '/a', async () => 7)).toBe(7);
  const work = withDiskFault('remove', '/a', () => Promise.reject(errorOf('EROFS')));
  await expect(work).rejects.toThrow('failed: cannot remove /a: the filesystem is read-only');
});

it.each([
  [isENOENT, ['ENOENT']],
  [isEACCES, ['EACCES', 'EPERM']],
  [isEEXIST, ['EEXIST']],
  [isNotALink, ['EINVAL']],
  [isNotAFile, ['ENOTREG']],
])('%p recognizes %p only', (recognizes, codes) => {
  const all = ['ENOENT', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT', 'EEXIST', 'EINVAL', 'ENOTREG', 'EISDIR', '', undefined];
  expect(all.filter((code) => recognizes(errorOf(code)))).toEqual(codes);
  expect([null, undefined, 'ENOENT', {}].filter((other) => recognizes(other))).toEqual([]);
});
