import type { AskPassword } from '../../signatures/sign/privateKey.ts';
import type { Signer } from '../../signatures/sign/signer.ts';
import { usageError } from '../ctlError.ts';
import { readHidden } from '../input/readHidden.ts';
import { readSmallFile } from '../input/readSmallFile.ts';
import type { Io } from '../io.ts';

/** The signer with the private key of a file. Throws KEY_UNUSABLE. */
export async function signerByKey(file: string, askPassword: AskPassword): Promise<Signer> {
  const { readPrivateKey } = await import('../../signatures/sign/privateKey.ts');
  const { keySigner } = await import('../../signatures/sign/signer.ts');
  const key = await readPrivateKey(readSmallFile(file), askPassword);
  const signer = typeof key === 'string' ? key : keySigner(key);
  if (typeof signer === 'string') throw usageError('KEY_UNUSABLE', `${file} ${signer}`);
  return signer;
}

/**
 * The password of a key: the first line of a file, else DEPLOYCTL_KEY_PASSWORD, else asked for on a terminal without echo.
 * Throws PASSWORD_MISSING.
 */
export function passwordFrom(io: Io, file: string | undefined): AskPassword {
  return async () => {
    if (file !== undefined) return /^[^\r\n]*/.exec(readSmallFile(file))?.[0] ?? '';
    const given = io.env['DEPLOYCTL_KEY_PASSWORD'];
    if (given !== undefined) return given;
    if (io.stdin.isTTY) return readHidden(io, 'password of the key');
    throw usageError('PASSWORD_MISSING', 'the key is encrypted', 'give --password-file or DEPLOYCTL_KEY_PASSWORD');
  };
}
