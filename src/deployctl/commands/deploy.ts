import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { MANIFEST_NAME } from '../../bundle/archive/pack.ts';
import {
  type ContentOptions,
  isDigest,
  packWith,
  policyOption,
  readContent,
  readSide,
  reserveSequence,
  verify,
  versionOption,
} from '../bundles/bundle.ts';
import { importBundle } from '../bundles/bundleImport.ts';
import { sign, signOptionsOf, type SigningOptions } from '../bundles/bundleSign.ts';
import { downloadArchive, pushArchive } from '../bundles/storedBundles.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { addSignatures, type Api, path, wholeSha } from '../core/client.ts';
import { CtlError, exits, usageError } from '../core/ctlError.ts';
import { readSignature } from '../core/files.ts';
import { countOption, envOf } from '../core/input.ts';
import { formatFacts, harmless, shortSha, signatureSteps } from '../core/table.ts';
import type { Bundle, BundleDetails, EnvDetails, PushedBundle, Rollout, SecretName } from '../core/types.ts';
import { conditionsOf, overrideRolloutOption, promoteBundle } from './env.ts';
import { planOf, planOptions, type StartOptions } from './rollout.ts';
import { newestRollout } from './convergence.ts';
import { awaitedOptions, rolloutTimeout, waitFor, type WaitOptions } from './wait.ts';

/** `deployctl deploy`. */
export function addDeploy(program: Command, run: Run): void {
  const deploy = program
    .command('deploy')
    .description('Pack, push, sign, promote and wait, in one command; with --wave, roll out in waves')
    .argument('<bundle>', 'directory of a bundle or a compose project, archive, or digest of a pushed bundle')
    .argument(
      '[env]',
      'name of the environment (default: as the bundle says; for a compose project, the only environment)',
    )
    .option('--version <version>', versionOption)
    .option('--policy <file>', policyOption)
    .option('--sign-key <file>', 'private key (PEM) to sign the bundle with, if the environment requires signatures')
    .option(
      '--sign-command <command>',
      'shell command to sign it with; it reads the bytes to sign and writes the signature',
    )
    .option('--public-key <file>', 'public key (PEM) of the key that the command signs with')
    .option(
      '--password-file <file>',
      'file with the password of the key (default: DEPLOYCTL_KEY_PASSWORD, or a prompt)',
    )
    .option('--yes', 'sign without asking')
    .option(
      '--timeout <seconds>',
      `maximum time to wait for the hosts (default: 900; with waves ${rolloutTimeout})`,
      countOption,
    );
  planOptions(awaitedOptions(deploy))
    .option('--if-desired <old-sha>', 'deploy only if <old-sha> is still the desired bundle')
    .option('--pipeline <number>', 'number of this pipeline; refused if a later one has promoted', countOption)
    .addOption(overrideRolloutOption())
    .action(run(deployBundle));
}

type DeployOptions = StartOptions &
  ContentOptions &
  SigningOptions &
  Omit<WaitOptions, 'timeout' | 'bundle'> & { timeout?: number; overrideRollout?: true };

async function deployBundle(
  session: Session,
  [place, named]: [string, string | undefined],
  options: DeployOptions,
): Promise<Result> {
  const isRollout = [options.wave, options.gate, options.gateWebhook, options.window].some(
    (each) => each !== undefined,
  );
  if (isRollout && options.overrideRollout)
    throw usageError('ROLLOUT_INVALID', '--override-rollout deploys to all hosts at once: leave out the waves');
  const api = await session.api();
  const scratch = await mkdtemp(join(tmpdir(), 'deployctl-'));
  try {
    const pushed = await pushSource(session, { place, env: named, scratch, options });
    await requireSecrets(session, pushed);
    const bundle = await withSignatures(session, { ...pushed, scratch, options });
    const { env, sha256, name, version, sequence } = bundle;
    const rollout = isRollout ? await rollOut(api, bundle, options) : null;
    if (!isRollout) await promoteBundle(api, { env, sha256 }, options);
    say(session, rollout === null ? `promoted it in ${env}` : `started the rollout in ${env}`);
    const target = { name: env, id: null, ...(rollout !== null && { rollout }) };
    const timeout = options.timeout ?? (isRollout ? rolloutTimeout : 900);
    const waited = await waitFor(session, target, { ...options, timeout, bundle: sha256 }).catch((error: unknown) => {
      throw withReturn(error, env);
    });
    const facts = formatFacts([
      ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
      ['sha256', sha256],
      ['hosts', waited.text],
    ]);
    return { json: { bundle, rollout, ...waited.json }, text: facts };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Shows a step that is done. */
function say({ io }: Session, line: string): void {
  io.stderr.write(`${harmless(line)}\n`);
}

function sayPushed(session: Session, what: string, bundle: PushedBundle): void {
  say(session, `${what} ${describe(bundle)}`);
  for (const warning of bundle.warnings) say(session, `warning: ${warning}`);
}

/** Names the way back, for a bundle that its hosts do not run. */
function withReturn(error: unknown, env: string): unknown {
  if (!(error instanceof CtlError) || error.fields.exit !== exits.failed) return error;
  const { remedy, ...fields } = error.fields;
  const lines = [
    ...(remedy === undefined ? [] : [remedy]),
    `\`deployctl rollback ${env}\` returns to the previous bundle`,
  ];
  return new CtlError({ ...fields, remedy: lines.join('\n') });
}

interface Source {
  place: string;
  /** The environment that was named. */
  env: string | undefined;
  /** A directory for archives. */
  scratch: string;
  options: DeployOptions;
}

/** A bundle that the service has, and its archive if it is here. */
interface Pushed {
  bundle: Bundle;
  file: string | null;
  /** The archive that the operator has named. */
  kept: string | null;
}

async function pushSource(session: Session, source: Source): Promise<Pushed> {
  const { place, env } = source;
  const api = await session.api();
  if (isDigest(place)) {
    const bundle = await findBundle(api, await wholeSha(api, place, env));
    requireSameEnv(bundle.env, env);
    return { bundle, file: null, kept: null };
  }
  if ((await kindOf(place)) !== 'archive') return pushDirectory(session, source);
  const plan = (await verify(session, [place], source.options)).json;
  requireSameEnv(plan.bundle?.env, env);
  const bundle = await pushArchive(api, place);
  sayPushed(session, 'pushed', bundle);
  return { bundle, file: place, kept: place };
}

function findBundle(api: Api, sha256: string): Promise<BundleDetails> {
  return api.call({ method: 'GET', path: path`/v1/bundles/${sha256}` });
}

function describe({ name, version, sequence, sha256 }: Bundle): string {
  return `${name} ${version}, sequence ${sequence}: ${shortSha(sha256)}`;
}

function requireSameEnv(env: string | undefined, named: string | undefined): void {
  if (named === undefined || env === named) return;
  const remedy = 'leave out the environment, or change the manifest';
  throw usageError('BUNDLE_ENV', `the bundle is for environment ${env ?? '-'}, not ${named}`, remedy);
}

async function kindOf(place: string): Promise<'bundle' | 'project' | 'archive'> {
  const stats = await stat(place).catch((error: unknown) => {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw usageError('FILE_UNREADABLE', `${place} cannot be read (${code})`);
  });
  if (stats.isDirectory()) return existsSync(join(place, MANIFEST_NAME)) ? 'bundle' : 'project';
  return /\.ya?ml$/.test(basename(place)) ? 'project' : 'archive';
}

/**
 * Packs and pushes a directory. If the newest bundle of the environment has the same content, that one is used, so that
 * a repeated deploy makes no second bundle.
 */
async function pushDirectory(session: Session, { place, env, scratch, options }: Source): Promise<Pushed> {
  const api = await session.api();
  const dir =
    (await kindOf(place)) === 'bundle' ? place : await importProject(session, { place, env, scratch, options });
  const content = await readContent(session, dir, options);
  requireSameEnv(content.manifest.env, env);
  const { newest } = await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${content.manifest.env}` });
  const file = join(scratch, 'bundle.tar.gz');
  if (newest) {
    const { sha256 } = await packWith(file, content, newest.sequence);
    if (sha256 === newest.sha256) {
      say(session, `the service has ${describe(newest)}`);
      return { bundle: newest, file, kept: null };
    }
  }
  await packWith(file, content, await reserveSequence(session, content.manifest.env));
  const bundle = await pushArchive(api, file);
  sayPushed(session, 'packed and pushed', bundle);
  return { bundle, file, kept: null };
}

/** Makes the directory of a bundle from a compose project that leaves nothing to decide. */
async function importProject(session: Session, { place, env: named, scratch }: Source): Promise<string> {
  const env = await envOf(session, named);
  const dir = join(scratch, 'bundle');
  const { exit = exits.done, text } = await importBundle(session, [place], { env, out: dir });
  if (exit === exits.done) return dir;
  throw new CtlError({
    exit: exits.failed,
    code: 'IMPORT_UNFINISHED',
    message: `${place} leaves something to decide before it is a bundle`,
    details: (text ?? '').split('\n').filter((line) => !line.startsWith('next: ')),
    remedy: `\`deployctl bundle import ${place} --env ${env}\`, decide, and deploy the directory that it creates`,
  });
}

/** Secrets as the service writes them: without a slash in the name. */
const secretName = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

/** Throws SECRETS_MISSING if the environment lacks secrets that the bundle reads, with the commands that write them. */
async function requireSecrets(session: Session, { bundle: { env, sha256 }, file }: Pushed): Promise<void> {
  const { facts } = await readSide(session, file ?? sha256);
  const branch = `deployd/data/${env}/see/`;
  const read = facts.manifest.secrets.map((secret) => ({ ...secret, key: secret.path.slice(branch.length) }));
  const known = read.filter(({ path, key }) => path.startsWith(branch) && secretName.test(key));
  if (known.length === 0) return;
  const api = await session.api();
  const { secrets } = await api.call<{ secrets: SecretName[] }>({ method: 'GET', path: path`/v1/envs/${env}/secrets` });
  const newest = new Map(secrets.map(({ key, version }) => [key, version]));
  const missing = known.filter(({ key, version }) => (newest.get(key) ?? 0) < (version ?? 1));
  if (missing.length === 0) return;
  const names = missing.map(({ key, version }) => {
    const found = newest.get(key);
    return found === undefined ? key : `${key} in version ${version} (the newest is ${found})`;
  });
  const steps = missing.map(({ key, field }) => `\`deployctl secret set ${env} ${key} --field ${field}\``);
  throw new CtlError({
    exit: exits.failed,
    code: 'SECRETS_MISSING',
    message: `environment ${env} lacks secrets that the bundle reads: ${[...new Set(names)].join(', ')}; nothing was promoted`,
    remedy: [...new Set(steps), `then \`deployctl deploy ${shortSha(sha256)} ${env}\``].join('\n'),
  });
}

/** Adds the signature that a bundle awaits. Throws SIGNATURE_AWAITED with the commands that finish it. */
async function withSignatures(
  session: Session,
  { bundle, file, kept, scratch, options }: Pushed & Pick<Source, 'scratch' | 'options'>,
): Promise<Bundle> {
  if (bundle.signature !== 'awaiting signature') return bundle;
  const api = await session.api();
  const { env, sha256 } = bundle;
  const { desired_sha } = await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${env}` });
  const signing = signOptionsOf(options);
  if (signing === null) throw signatureAwaited(bundle, { kept, previous: desired_sha });
  const archive = file ?? join(scratch, 'bundle.tar.gz');
  if (file === null) await downloadArchive(api, sha256, archive);
  const out = join(scratch, 'signature.json');
  const previous = desired_sha === null || desired_sha === sha256 ? {} : { previous: desired_sha };
  const { json } = await sign(session, [archive, signing.command], { ...signing.options, ...previous, out, readSide });
  const signed = await addSignatures(api, sha256, [readSignature(out)]);
  say(session, `signed by ${json.signer}`);
  if (signed.signature === 'awaiting signature') throw signatureAwaited(signed, { kept, previous: desired_sha });
  return signed;
}

function signatureAwaited(
  { env, sha256, signers = [] }: Bundle,
  { kept, previous }: { kept: string | null; previous: string | null },
): CtlError {
  const archive = { ...(kept !== null && { file: kept }), previous };
  const steps = [
    ...signatureSteps({ env, sha256 }, archive).slice(0, -1),
    `deployctl deploy ${shortSha(sha256)} ${env}`,
  ];
  const signed = signers.length === 0 ? 'nobody has signed it' : `signed by ${signers.join(', ')}`;
  return new CtlError({
    exit: exits.failed,
    code: 'SIGNATURE_AWAITED',
    message: `the bundle is pushed, and awaits signatures that the hosts of ${env} require: ${signed}`,
    remedy: steps.join('\n'),
  });
}

/**
 * Starts a rollout, or joins a running one with this bundle; returns its id. A bundle that is desired already is promoted
 * again instead (null), so that its earlier failures do not count.
 */
async function rollOut(api: Api, { env, sha256 }: Bundle, options: StartOptions): Promise<string | null> {
  const newest = await newestRollout(api, env);
  if (newest?.sha256 === sha256 && !['done', 'aborted'].includes(newest.state)) return newest.id;
  const json = { sha256, ...planOf(options), ...(await conditionsOf(api, env, options)) };
  const started = await api
    .call<Rollout>({ method: 'POST', path: path`/v1/envs/${env}/rollouts`, json })
    .catch((error: unknown) => {
      if (error instanceof CtlError && error.fields.code === 'ALREADY_DESIRED') return null;
      throw error;
    });
  if (started === null) await promoteBundle(api, { env, sha256 }, options);
  return started?.id ?? null;
}
