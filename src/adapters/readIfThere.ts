import { readText } from './atOnce.ts';
import { diskFault, isENOENT } from './files.ts';

/** The text of a small file, null when there is none. */
export async function readIfThere(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
}
