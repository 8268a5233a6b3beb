import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { defaultLimits as limits } from '../../api/checkIn.rules.ts';
import { diffSideOf, withBundleAt } from '../../bundle/bundleAt.ts';
import { diffOf, type DiffSide, formatDiff, signedFacts } from '../../bundle/bundleDiff.rules.ts';
import { formatRows } from '../../bundle/plan/formatPlan.rules.ts';
import { validateSignedKeys } from '../../bundle/plan/variables.rules.ts';
import { collectBytes } from '../../core/streams.ts';
import { SignatureFault } from '../../signatures/judgement.rules.ts';
import type { Statement } from '../../signatures/readSignature.ts';
import type { BundleClaim } from '../../signatures/trust.ts';
import type { AskPassword } from '../../signatures/sign/privateKey.ts';
import type { NewSignature, Signer } from '../../signatures/sign/signBundle.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { CtlError, exits, type Io, refusedBundle, usageError, withBundleFaults } from '../core/ctlError.ts';
import { fileExists, writePublicFile } from '../core/files.ts';
import { readAnswer, readHidden, readSmallFile } from '../core/input.ts';
import { formatFacts, harmless } from '../core/table.ts';
import { type KeylessOptions, signByIdentity } from './keyless.ts';

export interface SignOptions extends KeylessOptions {
  keyless?: boolean;
  key?: string;
  passwordFile?: string;
  publicKey?: string;
  previous?: string;
  yes?: boolean;
  out?: string;
  force?: boolean;
}

/** How `deployctl deploy` signs. */
export interface SigningOptions {
  signKey?: string;
  signCommand?: string;
  publicKey?: string;
  passwordFile?: string;
  yes?: boolean;
}

/** The options with which `sign` does the same; null if no signer was named. A command is run by a shell. */
export function signOptionsOf({
  signKey: key,
  signCommand,
  ...options
}: SigningOptions): { command: string[]; options: SignOptions } | null {
  if (key === undefined && signCommand === undefined) return null;
  const command = signCommand === undefined ? [] : ['sh', '-c', signCommand];
  const { publicKey, passwordFile, yes } = options;
  const more = {
    ...(publicKey !== undefined && { publicKey }),
    ...(passwordFile !== undefined && { passwordFile }),
    ...(yes !== undefined && { yes }),
  };
  return { command, options: { ...more, ...(key !== undefined && { key }) } };
}

/** Reads a bundle for a comparison: an archive, a directory, or the digest of a bundle in the tenancy service. */
type ReadSide = (session: Session, place: string) => Promise<DiffSide>;

/** Somebody may have to touch a token. */
const commandTimeoutMs = 60_000;
const { signal } = new AbortController();

/** `deployctl bundle sign`. */
export function addBundleSign(bundle: Command, run: Run, readSide: ReadSide): void {
  bundle
    .command('sign')
    .description('Sign an archive with a private key, a signing command, or an OIDC token (keyless)')
    .argument('<archive>', 'archive made by `deployctl bundle pack`')
    .argument(
      '[command...]',
      'command, written after --, that reads the bytes to sign and writes the signature, raw or in base64',
    )
    .option('--key <file>', 'private key (PEM): ECDSA, Ed25519 or RSA, plain or encrypted, also from cosign')
    .option(
      '--password-file <file>',
      'file with the password of the key (default: DEPLOYCTL_KEY_PASSWORD, or a prompt)',
    )
    .option('--public-key <file>', 'public key (PEM) of the key that the command signs with')
    .option('--keyless', 'sign with a short-lived certificate for the OIDC token in SIGSTORE_ID_TOKEN')
    .option('--identity-token <file>', 'sign keyless with the OIDC token in a file; - for standard input')
    .option('--fulcio <url>', 'URL of the Sigstore certificate authority (default: the public one)')
    .option('--rekor <url>', 'URL of the Sigstore transparency log (default: the public one)')
    .option('--tsa <url>', 'URL of a timestamp authority (RFC 3161) to use too')
    .option('--root <file>', 'Sigstore trust root: write the signature only if this trust root verifies it')
    .option('--previous <bundle>', 'archive or digest of the bundle that was signed before: show the differences')
    .option('--yes', 'sign without asking')
    .option('--out <file>', 'signature file to create (default: ARCHIVE.sigstore.json)')
    .option('--force', 'overwrite an existing file')
    .action(
      run((session, operands: [string, string[]], options: SignOptions) =>
        sign(session, operands, { ...options, readSide }),
      ),
    );
}

/** Signs an archive after a look at its content; returns the file of the signature. */
export async function sign(
  session: Session,
  operands: [string, string[]],
  options: SignOptions & { readSide: ReadSide },
): Promise<Result & { json: { file: string; sha256: string; signer: string } & BundleClaim }> {
  const [archive, command] = operands;
  const { out: file = `${archive}.sigstore.json`, force = false } = options;
  if (!force && existsSync(file)) throw fileExists(file);
  const signBy = wayOf(session, command, options);
  const { statement, side } = await statementAbout(archive);
  const before = options.previous === undefined ? null : await options.readSide(session, options.previous);
  const preview = previewOf(statement, side, before).split('\n').map(harmless).join('\n');
  if (options.yes !== true) await confirm(session.io, preview);
  const { signature, signer, remarks = [] } = await withSignatureFaults(() => signBy(statement));
  await writePublicFile(file, `${JSON.stringify(signature)}\n`, force);
  const { sha256, claim } = statement;
  const { name, env, version, sequence } = claim;
  const facts: [string, string][] = [
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', sha256],
    ['signer', signer],
    ...remarks,
    ['file', file],
  ];
  return {
    json: { file, sha256, name, env, version, sequence, signer },
    text: options.yes === true ? `${preview}\n${formatFacts(facts)}` : formatFacts(facts),
  };
}

/** A way to sign; `remarks` are further facts for people. */
type Way = (statement: Statement) => Promise<NewSignature & { remarks?: [string, string][] }>;

function wayOf(session: Session, command: string[], options: SignOptions): Way {
  const { key, keyless, identityToken, publicKey } = options;
  const isKeyless = keyless === true || identityToken !== undefined;
  const [program, ...args] = command;
  if ([key !== undefined, program !== undefined, isKeyless].filter(Boolean).length !== 1)
    throw usageError('SIGNER_INVALID', 'name one of --key, a command after --, and --keyless or --identity-token');
  if (isKeyless) return (statement) => signByIdentity(session, statement, options);
  if (key !== undefined)
    return async (statement) =>
      signWith(await signerByKey(key, passwordFrom(session.io, options.passwordFile)), statement);
  if (publicKey === undefined || program === undefined)
    throw usageError('SIGNER_INVALID', 'name the public key of the command by --public-key');
  const signer = signerByCommand({ argv: [program, ...args], publicKey, timeoutMs: commandTimeoutMs }, session.io);
  return (statement) => signWith(signer, statement);
}

/** The content of an archive as a text for the person who signs it. */
function previewOf({ sha256, claim }: Statement, side: DiffSide, before: DiffSide | null): string {
  const { name, env, version, sequence } = claim;
  const label = `${name} ${version}, sequence ${sequence}, for environment ${env}`;
  const rows = formatRows([`signs ${label}`], [['sha256', [sha256]], ...signedFacts(side)]);
  return before === null
    ? `${rows}\n  differences from the previous bundle are shown with --previous`
    : `${rows}\n${formatDiff(diffOf(before, side))}`;
}

/** Shows a preview, and asks on the terminal whether to sign it. Throws CONFIRMATION_MISSING or NOT_CONFIRMED. */
async function confirm(io: Io, preview: string): Promise<void> {
  io.stderr.write(`${preview}\n`);
  if (!io.stdin.isTTY)
    throw usageError('CONFIRMATION_MISSING', 'standard input is not a terminal, so nobody can be asked', 'add --yes');
  const answer = await readAnswer(io, 'sign it? [y/N]');
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CtlError({ exit: exits.failed, code: 'NOT_CONFIRMED', message: 'nothing was signed' });
}

/** The content of an archive and of its manifest. Throws the refusals of a bundle that no host with `trust.bundles` accepts. */
async function statementAbout(archive: string): Promise<{ statement: Statement; side: DiffSide }> {
  return withBundleFaults(() =>
    withBundleAt({ path: archive, limits, signal }, async (bundle) => {
      const { sha } = bundle;
      if (sha === null) throw usageError('ARCHIVE_INVALID', `${archive} is a directory`, packFirst);
      if ('refusal' in bundle) throw refusedBundle([bundle.refusal]);
      const { name, env, version, sequence } = bundle.manifest;
      const side = await diffSideOf(bundle, signal);
      if ('refusals' in side) throw refusedBundle(side.refusals);
      const refusal = validateSignedKeys(side.facts, bundle.manifest);
      if (refusal !== null) throw refusedBundle([refusal]);
      return { statement: { sha256: sha, claim: { name, env, version, sequence } }, side };
    }),
  );
}

const packFirst = 'make an archive of it: `deployctl bundle pack`';

async function signWith(signer: Signer, statement: Statement): Promise<NewSignature> {
  const { signBundle } = await import('../../signatures/sign/signBundle.ts');
  return signBundle(statement, signer);
}

async function withSignatureFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    throw new CtlError({ exit: exits.failed, code: 'SIGNATURE_INVALID', message: error.message });
  }
}

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
 * The signer that is a command: it reads the bytes to sign, and writes the signature as bytes or base64. Its standard
 * error is shown. Throws COMMAND_FAILED.
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
  // the exit code of a command that stops reading shows the fault
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
async function signerByKey(file: string, askPassword: AskPassword): Promise<Signer> {
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
function passwordFrom(io: Io, file: string | undefined): AskPassword {
  return async () => {
    if (file !== undefined) return /^[^\r\n]*/.exec(readSmallFile(file))?.[0] ?? '';
    const given = io.env['DEPLOYCTL_KEY_PASSWORD'];
    if (given !== undefined) return given;
    if (io.stdin.isTTY) return readHidden(io, 'password of the key');
    throw usageError('PASSWORD_MISSING', 'the key is encrypted', 'give --password-file or DEPLOYCTL_KEY_PASSWORD');
  };
}
