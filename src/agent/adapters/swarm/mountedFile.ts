import { stat } from 'node:fs/promises';
import { diskFault } from '../../../core/errors.rules.ts';
import { readRegularFile } from '../../../core/files.ts';
import type { MountedFile } from '../../rules/stack/stackContents.ts';

const anyoneExecutes = 0o111;

/** A file of a release that a service mounts. Throws `DISK_READ_FAILED`. */
export async function readMountedFile(path: string): Promise<MountedFile> {
  try {
    const { mode } = await stat(path);
    return { data: readRegularFile(path), isExecutable: (mode & anyoneExecutes) !== 0 };
  } catch (error) {
    throw diskFault('read', path, error);
  }
}
