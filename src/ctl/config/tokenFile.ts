import { openRegularFile } from '../../platform/regularFile.ts';
import { usageError } from '../ctlError.ts';

/** Reads an operator's token. Throws TOKEN_UNUSABLE, which says nothing of what the file holds. */
export async function readToken(file: string): Promise<string> {
  const unusable = (problem: string, remedy?: string) => usageError('TOKEN_UNUSABLE', `${file} ${problem}`, remedy);
  const opened = await openRegularFile(file, { follow: true }).catch((error: unknown) => {
    throw unusable(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  });
  await using token = opened;
  const { mode } = await token.stat();
  if ((mode & 0o077) !== 0) throw unusable('may be read by others', `chmod 600 ${file}`);
  const { buffer, bytesRead } = await token.read(Buffer.alloc(maxBytes));
  const text = buffer.toString('latin1', 0, bytesRead).trim();
  if (!isToken(text)) throw unusable('holds no token of an operator', 'it is one line that begins with dpo_');
  return text;
}

/** True for a text that has the shape of an operator's token. */
export function isToken(text: string): boolean {
  return /^dpo_[A-Za-z0-9_-]{43}$/.test(text);
}

const maxBytes = 1024;
