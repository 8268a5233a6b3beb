import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file with this mode, whatever the umask is, and makes the directories above it. */
export async function writeWithMode(file: string, content: string, mode = 0o644): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content, { mode });
  await chmod(file, mode);
}
