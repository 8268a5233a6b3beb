import { type Command, Option } from 'commander';
import { readTrustFile } from '../config/configFiles.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, wholeSha } from '../core/client.ts';
import { CtlError, usageError } from '../core/ctlError.ts';
import { countOption, sequenceOption } from '../core/input.ts';
import { formatDoom, formatFacts, formatTable, shortSha, signatureSteps } from '../core/table.ts';
import type { Bundle, Env, EnvDetails } from '../core/types.ts';
import { signerLines } from '../../signatures/signatureFiles.ts';

/** `deployctl env list|show|create|delete|trust`. */
export function addEnv(program: Command, run: Run): void {
  const env = program.command('env').helpCommand(false).description('Manage environments');
  env.command('list').description('List the environments that you may see').action(run(listEnvs));
  env
    .command('show')
    .description('Show an environment')
    .argument('<env>', 'name of the environment')
    .action(run(showEnv));
  env
    .command('create')
    .description('Create an environment')
    .argument('<env>', 'name of the environment')
    .option('--production', 'never remove volumes of its hosts')
    .action(run(createEnv));
  env
    .command('delete')
    .description('Remove an environment whose hosts are all retired')
    .argument('<env>', 'name of the environment')
    .action(run(deleteEnv));
  env
    .command('trust')
    .description(
      'Record the signers, and optionally policy and maintenance windows, that all hosts should have; hosts keep their own',
    )
    .argument('<env>', 'name of the environment')
    .argument(
      '[file]',
      'file with the key `trust.bundles` of config.yaml, and optionally `policy` and `apply.windows`; paths in it are relative to the file',
    )
    .option('--clear', 'remove the setting: the service requires no signatures')
    .action(run(trustEnv));
  env
    .command('sequence')
    .description('Set the sequence after which the next bundles are numbered, for example after a very high one')
    .argument('<env>', 'name of the environment')
    .requiredOption('--set <n>', 'highest sequence that counts as used, from 0 to 2^47', sequenceOption)
    .action(run(setSequence));
}

async function listEnvs(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<{ envs: Env[] }>({ method: 'GET', path: '/v1/envs' });
  const rows = json.envs.map(({ name, production, desired_sha, last_sequence, backends }) => [
    name,
    production ? 'yes' : 'no',
    shortSha(desired_sha),
    String(last_sequence),
    formatCounts(backends),
  ]);
  return { json, text: formatTable(['ENV', 'PRODUCTION', 'DESIRED', 'SEQUENCE', 'BACKENDS'], rows, session.width) };
}

async function showEnv(session: Session, [name]: [string]): Promise<Result> {
  const api = await session.api();
  return resultOf(await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${name}` }), session);
}

async function createEnv(session: Session, [name]: [string], options: { production?: boolean }): Promise<Result> {
  const api = await session.api();
  const json = { name, production: options.production ?? false };
  return resultOf(await api.call<EnvDetails>({ method: 'POST', path: '/v1/envs', json }), session);
}

async function deleteEnv(session: Session, [name]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/envs/${name}` });
  return { json, text: `environment ${name} is deleted` };
}

async function trustEnv(
  session: Session,
  [name, file]: [string, string | undefined],
  { clear = false }: { clear?: boolean },
): Promise<Result> {
  if (clear === (file !== undefined)) throw usageError('TRUST_INVALID', 'give a file, or --clear');
  const trust = file === undefined ? null : await readTrustFile(file);
  const api = await session.api();
  const target = path`/v1/envs/${name}/trust`;
  if (trust === null) return resultOf(await api.call<EnvDetails>({ method: 'DELETE', path: target }), session);
  const json = { ...trust, root: trust.root === null ? null : (JSON.parse(trust.root) as object) };
  const result = resultOf(await api.call<EnvDetails>({ method: 'PUT', path: target, json }), session);
  return { ...result, text: [result.text, '', ...signerLines(trust)].join('\n') };
}

async function setSequence(session: Session, [name]: [string], { set: sequence }: { set: number }): Promise<Result> {
  const api = await session.api();
  const request = { method: 'PUT', path: path`/v1/envs/${name}/sequence`, json: { sequence } } as const;
  return resultOf(await api.call<EnvDetails>(request), session);
}

function resultOf(env: EnvDetails, { nowMs }: Session): Result {
  return { json: env, text: formatEnv(env, nowMs) };
}

/** An env as text. */
function formatEnv(
  { name, production, desired_sha, last_sequence, held_since, backends, secrets_destroy_at: doom, ...more }: EnvDetails,
  nowMs: number,
): string {
  return formatFacts([
    ['env', name],
    ['production', production ? 'yes' : 'no'],
    ['desired', desired_sha ?? 'nothing'],
    ['held', held_since ? 'since a restore; its hosts get no orders until `deployctl restore release`' : null],
    ['sequence', String(last_sequence)],
    ['backends', formatCounts(backends)],
    ['secrets', doom ? formatDoom(name, doom, nowMs) : null],
    ...trustFacts(more),
  ]);
}

function trustFacts({ trust, desired, newest }: Pick<EnvDetails, 'trust' | 'desired' | 'newest'>): Fact[] {
  if (!trust) return [];
  const { threshold, keys, identities, policy, windows } = trust;
  const waits = newest && newest.sha256 !== desired?.sha256;
  return [
    ['trust', formatTrust(threshold, keys.length + identities.length)],
    ['compared', ['signers', ...(policy ? ['policy'] : []), ...(windows ? ['maintenance windows'] : [])].join(', ')],
    ['signatures', desired ? formatSignature(desired, threshold) : null],
    ['newest', waits ? `${newest.sha256}, ${formatSignature(newest, threshold)}` : null],
  ];
}

function formatTrust(threshold: number, signers: number): string {
  const required = `${threshold} ${threshold === 1 ? 'signature' : 'signatures'} required`;
  return `${required}, from ${signers} trusted ${signers === 1 ? 'signer' : 'signers'}`;
}

type Fact = [label: string, value: string | null];

function formatSignature({ signature, signers = [] }: Bundle, threshold: number): string {
  if (signature === 'signed') return `signed by ${signers.join(', ')}`;
  return `awaiting signature, has ${signers.length} of ${threshold}`;
}

function formatCounts(backends: Env['backends']): string {
  const counts = Object.entries(backends).filter(([, count]) => count > 0);
  return counts.map(([state, count]) => `${count} ${state}`).join(', ') || 'none';
}

/** `deployctl promote`. */
export function addPromote(program: Command, run: Run): void {
  program
    .command('promote')
    .description('Deploy a bundle to all hosts of an environment')
    .argument('<env>', 'name of the environment')
    .argument('[sha]', 'digest of a pushed bundle, or its first characters')
    .option('--none', 'clear the desired bundle; hosts keep their services running')
    .addOption(ifDesiredOption())
    .addOption(pipelineOption())
    .addOption(overrideRolloutOption())
    .action(run(promote));
}

async function promote(
  session: Session,
  [env, sha]: [string, string | undefined],
  { none = false, overrideRollout, ...conditions }: { none?: boolean; overrideRollout?: true } & PromotionOptions,
): Promise<Result> {
  if (none === (sha !== undefined)) throw usageError('SHA_INVALID', 'give the digest of a bundle, or --none');
  const api = await session.api();
  const sha256 = sha === undefined ? null : await wholeSha(api, sha, env);
  const json = { sha256, ...(await conditionsOf(api, env, conditions)), ...overrideOf(overrideRollout) };
  const call = { method: 'PUT', path: path`/v1/envs/${env}/desired`, json } as const;
  const details = await api.call<EnvDetails>(call).catch((error: unknown) => {
    throw sha256 === null ? error : withSteps(error, { env, sha256 });
  });
  return resultOf(details, session);
}

/** Names the commands that finish a bundle which awaits signatures. */
function withSteps(error: unknown, bundle: { env: string; sha256: string }): unknown {
  if (!(error instanceof CtlError) || error.fields.code !== 'SIGNATURE_AWAITED') return error;
  return new CtlError({ ...error.fields, remedy: signatureSteps(bundle).join('\n') });
}

/** Conditions of a promotion for an environment, from the command line. */
export interface PromotionOptions {
  ifDesired?: string;
  pipeline?: number;
}

/** `--if-desired`; an older service refuses it. */
export function ifDesiredOption(): Option {
  return new Option(
    '--if-desired <old-sha>',
    'promote only if <old-sha> is still the desired bundle; the word none stands for no bundle',
  );
}

/** `--override-rollout`; an older service refuses it. */
export function overrideRolloutOption(): Option {
  return new Option('--override-rollout', 'abort the rollout of the environment, if it has one, and continue');
}

/** The field of the API for `--override-rollout`. */
export function overrideOf(overrides: true | undefined) {
  return overrides === true ? { override_rollout: true } : {};
}

/** `--pipeline`; an older service refuses it. */
export function pipelineOption(): Option {
  const meaning = 'number of this pipeline; refused if a pipeline with a higher number has promoted';
  return new Option('--pipeline <number>', meaning).argParser(countOption);
}

/** The conditions as fields of the API; without options they are left out, which older services accept. */
export async function conditionsOf(api: Api, env: string, { ifDesired, pipeline }: PromotionOptions) {
  const expected = async (text: string) => ({ if_desired: text === 'none' ? null : await wholeSha(api, text, env) });
  return {
    ...(ifDesired !== undefined && (await expected(ifDesired))),
    ...(pipeline !== undefined && { pipeline }),
  };
}
