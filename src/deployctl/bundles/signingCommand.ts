import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { collectBytes } from '../../core/streams.ts';
import type { AskPassword } from '../../signatures/sign/privateKey.ts';
import type { Signer } from '../../signatures/sign/signBundle.ts';
import { CtlError, exits, type Io, usageError } from '../core/ctlError.ts';
import { readHidden, readSmallFile } from '../core/input.ts';

/** A command that reaches a private key: at a key management service, on a token. */
export interface SignCommand {
  /** Program and arguments; no shell is between. */
  argv: [program: string, ...args: string[]];
  /** File of the public key, in PEM. */
  publicKey: string;
  /** After so many milliseconds it is killed. */
  timeoutMs: number;
}

const maxOutputBytes = 16_384;

/**
 * The signer that is a command: it reads the bytes to sign, and writes the signature as bytes or base64. What it writes to
 * its standard error is shown. Throws COMMAND_FAILED.
 */
export function signerByCommand({ argv, publicKey, timeoutMs }: SignCommand, io: Io): Signer {
  return {
    publicKey: readSmallFile(publicKey),
    sign: async (bytes) => signatureOf(await outputOf(argv, { bytes, timeoutMs, io })),
  };
}

async function outputOf(
  [program, ...args]: SignCommand['argv'],
  { bytes, timeoutMs, io }: { bytes: Buffer; timeoutMs: number; io: Io },
): Promise<Buffer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const child = spawn(program, args, { env: io.env, stdio: 'pipe', signal, killSignal: 'SIGKILL' });
  child.stderr.pipe(io.stderr, { end: false });
  // a command that does not read to the end tells by its exit what is wrong
  child.stdin.on('error', () => undefined).end(bytes);
  try {
    const [output] = await Promise.all([collectOutput(child), exitedWell(child)]);
    return output;
  } catch (error) {
    throw failure(program, signal.aborted ? `took longer than ${timeoutMs / 1000} s` : reasonOf(error));
  } finally {
    // a process that it started may hold them open
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
}

function collectOutput({ stdout }: ChildProcessWithoutNullStreams): Promise<Buffer> {
  return collectBytes(stdout, { maxBytes: maxOutputBytes, tooLarge: () => new Error('wrote more than a signature') });
}

async function exitedWell(child: ChildProcessWithoutNullStreams): Promise<void> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (code !== 0) throw new Error(code === null ? `ended by ${signal ?? 'a signal'}` : `ended with exit code ${code}`);
}

/** A program that cannot be started is an error with a code. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `cannot be run (${code})`;
}

function failure(program: string, problem: string): CtlError {
  return new CtlError({ exit: exits.failed, code: 'COMMAND_FAILED', message: `${program} ${problem}` });
}

/** A signature is never text in base64 by chance. */
function signatureOf(output: Buffer): Buffer {
  const text = output.toString('latin1').trim();
  return /^[A-Za-z0-9+/\s]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : output;
}

/** The signer with the private key of a file. Throws KEY_UNUSABLE. */
export async function signerByKey(file: string, askPassword: AskPassword): Promise<Signer> {
  const { readPrivateKey } = await import('../../signatures/sign/privateKey.ts');
  const { keySigner } = await import('../../signatures/sign/signBundle.ts');
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
