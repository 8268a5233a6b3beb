import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { withBundleAt } from '../../bundle/bundleAt.ts';
import { defaultLimits as limits } from '../../protocol/defaultLimits.ts';
import { SignatureFault } from '../../signatures/signatureFault.ts';
import type { Statement } from '../../signatures/statement.ts';
import type { Signer } from '../../signatures/sign/signer.ts';
import { CtlError, exits, usageError } from '../ctlError.ts';
import { refusedBundle, withBundleFaults } from '../input/bundleFaults.ts';
import type { Io } from '../io.ts';
import { fileExists, writePublicFile } from '../output/publicFile.ts';
import { formatFacts } from '../output/table.ts';
import type { Result, Run, Session } from '../session.ts';
import { signerByCommand } from '../signing/command.ts';
import { passwordFrom, signerByKey } from '../signing/keyFile.ts';

interface SignOptions {
  key?: string;
  passwordFile?: string;
  publicKey?: string;
  out?: string;
  force?: boolean;
}

/** Somebody may have to touch a token. */
const commandTimeoutMs = 60_000;
const { signal } = new AbortController();

/** `deployctl bundle sign`. */
export function addBundleSign(bundle: Command, run: Run): void {
  bundle
    .command('sign')
    .description('sign an archive, with a key or by a command, for hosts that demand signatures')
    .argument('<archive>', 'as `deployctl bundle pack` makes it')
    .argument('[command...]', 'after --: reads the bytes to sign, writes the signature, raw or in base64')
    .option('--key <file>', 'private key in PEM: ECDSA, Ed25519 or RSA, encrypted or not, of cosign too')
    .option('--password-file <file>', 'password of the key (default: DEPLOYCTL_KEY_PASSWORD, or asked for)')
    .option('--public-key <file>', 'public key in PEM of the key that the command signs with')
    .option('--out <file>', 'the signature (default: ARCHIVE.sigstore.json)')
    .option('--force', 'overwrite a file that is there')
    .action(run(sign));
}

async function sign({ io }: Session, operands: [string, string[]], options: SignOptions): Promise<Result> {
  const [archive, command] = operands;
  const { out: file = `${archive}.sigstore.json`, force = false } = options;
  if (!force && existsSync(file)) throw fileExists(file);
  const statement = await statementAbout(archive);
  const signed = await signWith(await signerBy(io, command, options), statement);
  await writePublicFile(file, `${JSON.stringify(signed.signature)}\n`, force);
  const { sha256, claim } = statement;
  const { name, env, version, sequence } = claim;
  const facts: [string, string][] = [
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
    ['sha256', sha256],
    ['signer', signed.signer],
    ['file', file],
  ];
  return { json: { file, sha256, name, env, version, sequence, signer: signed.signer }, text: formatFacts(facts) };
}

/** What the manifest of an archive says. */
async function statementAbout(archive: string): Promise<Statement> {
  return withBundleFaults(() =>
    withBundleAt({ path: archive, limits, signal }, async (bundle) => {
      const { sha } = bundle;
      if (sha === null) throw usageError('ARCHIVE_INVALID', `${archive} is a directory`, packFirst);
      if ('refusal' in bundle) throw refusedBundle([bundle.refusal]);
      const { name, env, version, sequence } = bundle.manifest;
      return Promise.resolve({ sha256: sha, claim: { name, env, version, sequence } });
    }),
  );
}

const packFirst = 'make an archive of it: `deployctl bundle pack`';

async function signerBy(io: Io, command: string[], options: SignOptions): Promise<Signer> {
  const { key, passwordFile, publicKey } = options;
  const [program, ...args] = command;
  if ((key === undefined) === (program === undefined))
    throw usageError('SIGNER_INVALID', 'name a key by --key, or a command after --, and not both');
  if (key !== undefined) return signerByKey(key, passwordFrom(io, passwordFile));
  if (publicKey === undefined || program === undefined)
    throw usageError('SIGNER_INVALID', 'name the public key of the command by --public-key');
  return signerByCommand({ argv: [program, ...args], publicKey, timeoutMs: commandTimeoutMs }, io);
}

async function signWith(signer: Signer, statement: Statement) {
  const { signBundle } = await import('../../signatures/sign/signBundle.ts');
  try {
    return await signBundle(statement, signer);
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    throw new CtlError({ exit: exits.failed, code: 'SIGNATURE_INVALID', message: error.message });
  }
}
