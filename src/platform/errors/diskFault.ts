import { Fault } from '../../../machines/fault.ts';

/** An error of the disk, which says nothing about the content stored on it. */
export class DiskFault extends Fault {}

/** The journal line for a filesystem error: `doing` is the verb, `path` its object. */
export function diskFault(doing: 'write' | 'remove' | 'read', path: string, error: unknown): DiskFault {
  const code = errorCodeOf(error) ?? 'unknown error';
  const reason = errorDescriptions[code] ?? code;
  const details = doing === 'read' ? {} : { code: 'DISK_WRITE_FAILED' };
  return new DiskFault('failed', `failed: cannot ${doing} ${path}: ${reason}`, details);
}

/** Runs `work`; its error is thrown as the fault of `diskFault`. */
export async function withDiskFault<T>(
  doing: 'write' | 'remove' | 'read',
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskFault(doing, path, error);
  }
}

/** True when the file or directory does not exist. */
export const isENOENT = (error: unknown): boolean => errorCodeOf(error) === 'ENOENT';

/** True when this user lacks permission. */
export const isEACCES = (error: unknown): boolean => ['EACCES', 'EPERM'].includes(errorCodeOf(error) ?? '');

/** True when the path exists already. */
export const isEEXIST = (error: unknown): boolean => errorCodeOf(error) === 'EEXIST';

/** True when the path is not a symbolic link. */
export const isNotALink = (error: unknown): boolean => errorCodeOf(error) === 'EINVAL';

/** True when the path is not a regular file; a directory has its own code, as no file can replace it. */
export const isNotAFile = (error: unknown): boolean => errorCodeOf(error) === 'ENOTREG';

const errorDescriptions: Record<string, string | undefined> = {
  ENOSPC: 'no space left on the filesystem',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the filesystem is read-only',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EIO: 'the disk reports an input/output error',
  ENOENT: 'no such file or directory',
  EISDIR: 'a directory stands in its place; move it away',
  ENOTEMPTY: 'a directory with content stands in its place; move it away',
  EEXIST: 'something stands in its place; move it away',
  ENOTREG: 'it is no regular file; move it away',
  EFBIG: 'it is larger than any file that the agent wrote; move it away',
};

function errorCodeOf(error: unknown): string | undefined {
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
