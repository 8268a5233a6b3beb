import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../userError.ts';

const run = promisify(execFile);

/** An OpenPGP key that repositories are signed by. */
export interface SigningKey {
  /** The public key, in ASCII. */
  publicKey: string;
  /** Writes a file with its signature around it. */
  signInline: (file: string, output: string) => Promise<void>;
  /** Writes the signature of a file, in ASCII. */
  signDetached: (file: string, output: string) => Promise<void>;
  /** Adds a signature to an rpm package. */
  signRpm: (file: string) => Promise<void>;
  close: () => Promise<void>;
}

/** Opens the secret key in a file, in a separate keyring that `close` deletes. */
export async function openSigningKey(file: string): Promise<SigningKey> {
  const home = await mkdtemp(join(tmpdir(), 'deployd-keyring-'));
  const env = { ...process.env, GNUPGHOME: home, LC_ALL: 'C.UTF-8' };
  const gpg = async (...args: string[]) => {
    const options = ['--batch', '--no-tty', '--quiet', '--pinentry-mode', 'error'];
    return (await run('gpg', [...options, ...args], { env })).stdout;
  };
  const close = async () => {
    await run('gpgconf', ['--kill', 'all'], { env });
    await rm(home, { recursive: true });
  };
  try {
    const name = await importKey(file, gpg);
    const sign = (...args: string[]) => gpg('--local-user', name, '--digest-algo', 'SHA512', ...args);
    await usable(file, sign('--clear-sign', '--output', join(home, 'trial'), file));
    const defines = { _gpg_name: name, __gpg: (await run('sh', ['-c', 'command -v gpg'])).stdout.trim() };
    const macros = Object.entries(defines).flatMap(([macro, value]) => ['--define', `${macro} ${value}`]);
    return {
      publicKey: await gpg('--armor', '--export', name),
      signInline: async (text, output) => void (await sign('--output', output, '--clear-sign', text)),
      signDetached: async (text, output) => void (await sign('--output', output, '--armor', '--detach-sign', text)),
      signRpm: async (rpm) => void (await run('rpmsign', [...macros, '--addsign', rpm], { env })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The fingerprint of the only key in the file. */
async function importKey(file: string, gpg: (...args: string[]) => Promise<string>): Promise<string> {
  try {
    await gpg('--import', file);
  } catch {
    throw new UserError(`${file} is not an OpenPGP key: write it with gpg --export-secret-keys --armor`);
  }
  const keys = [...(await gpg('--list-secret-keys', '--with-colons')).matchAll(/^sec:.*\n(?:fpr|grp):+(\w+):$/gm)];
  const [[, fingerprint] = [], ...others] = keys;
  if (fingerprint === undefined || others.length > 0)
    throw new UserError(`${file} holds ${keys.length} secret keys: give the one that the repository is signed by`);
  return fingerprint;
}

async function usable(file: string, trial: Promise<string>): Promise<void> {
  try {
    await trial;
  } catch {
    throw new UserError(`the key of ${file} cannot sign: it has a passphrase, or is expired or revoked`);
  }
}
