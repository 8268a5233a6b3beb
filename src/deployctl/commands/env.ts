import { type Command, Option } from 'commander';
import { readTrustFile } from '../config/configFiles.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, wholeSha } from '../core/client.ts';
import { CtlError, exits, usageError } from '../core/ctlError.ts';
import { countOption, sequenceOption, shaOption } from '../core/input.ts';
import {
  formatAge,
  formatDoom,
  formatFacts,
  formatTable,
  formatTime,
  shortSha,
  signatureSteps,
  warningFacts,
} from '../core/table.ts';
import type { Bundle, Env, EnvDetails, HeldEnv, PushedBundle, RestoreReview } from '../core/types.ts';
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

/** Makes a bundle the desired one; throws the steps for a bundle that awaits signatures. */
export async function promoteBundle(
  api: Api,
  { env, sha256 }: { env: string; sha256: string | null },
  { overrideRollout, ...conditions }: { overrideRollout?: true } & PromotionOptions,
): Promise<EnvDetails> {
  const json = { sha256, ...(await conditionsOf(api, env, conditions)), ...overrideOf(overrideRollout) };
  return api.call<EnvDetails>({ method: 'PUT', path: path`/v1/envs/${env}/desired`, json }).catch((error: unknown) => {
    throw sha256 === null ? error : withSteps(error, { env, sha256 });
  });
}

async function promote(
  session: Session,
  [env, sha]: [string, string | undefined],
  { none = false, ...options }: { none?: boolean; overrideRollout?: true } & PromotionOptions,
): Promise<Result> {
  if (none === (sha !== undefined)) throw usageError('SHA_INVALID', 'give the digest of a bundle, or --none');
  const api = await session.api();
  const sha256 = sha === undefined ? null : await wholeSha(api, sha, env);
  return resultOf(await promoteBundle(api, { env, sha256 }, options), session);
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

/** `deployctl restore review|adopt|release`. */
export function addRestore(program: Command, run: Run): void {
  const restore = program
    .command('restore')
    .helpCommand(false)
    .description('Review what a restored tenancy service would change, before its hosts get orders again');
  restore
    .command('review')
    .description('Show what the release of each held environment changes, and stored archives without a bundle')
    .argument('[env]', 'only this environment')
    .action(run(review));
  restore
    .command('adopt')
    .description('Make a bundle of a stored archive that the restored service does not know')
    .argument('<sha>', 'digest of the archive, or its first characters', shaOption)
    .action(run(adopt));
  restore
    .command('release')
    .description('Give orders again to the hosts of a held environment')
    .argument('<env>', 'name of the environment')
    .option('--confirm', 'release it; without this, only show what would change')
    .action(run(release));
}

async function readReview(session: Session, env?: string): Promise<RestoreReview> {
  const api = await session.api();
  const { envs, archives, more_archives } = await api.call<RestoreReview>({ method: 'GET', path: '/v1/restore' });
  if (env === undefined) return { envs, archives, more_archives };
  const isOf = (archive: { env: string | null }) => archive.env === env;
  return { envs: envs.filter((held) => held.env === env), archives: archives.filter(isOf), more_archives };
}

async function review(session: Session, [env]: [string | undefined]): Promise<Result> {
  const json = await readReview(session, env);
  const parts = [...json.envs.map((held) => formatHeld(held, session)), formatArchives(json, session)];
  return { json, text: parts.filter((part) => part !== '').join('\n\n') || nothingHeld(env) };
}

function nothingHeld(env?: string): string {
  return env === undefined ? 'no environment is held' : `environment ${env} is not held`;
}

type HostChange = HeldEnv['hosts'][number]['change'];

const meanings: Record<HostChange, string> = {
  back: 'would get an older bundle than they run; they refuse it, unless it has allow_rollback',
  unknown: 'run a bundle that this service does not know, and would get another one',
  down: 'would be taken down, because their backend is retiring',
  apply: 'would get a newer bundle, or their first one',
  locked: 'are locked: they get no orders',
  none: 'would not change',
};

function formatHeld(held: HeldEnv, { width, nowMs }: Session): string {
  const { env, held_since, desired_sha, desired_sequence, silent, changes, hosts } = held;
  const counts = (Object.keys(meanings) as HostChange[]).filter((change) => (changes[change] ?? 0) > 0);
  const facts = formatFacts([
    ['env', `${env}, held since ${formatTime(held_since, nowMs)}`],
    ['desired', desired_sha === null ? 'nothing' : `${desired_sha}, sequence ${desired_sequence ?? 'unknown'}`],
    ...counts.map((change): [string, string] => [change, `${changes[change]} hosts ${meanings[change]}`]),
    ['silent', silent === 0 ? null : `${silent} hosts have not checked in since; wait for them if you can`],
  ]);
  const changed = hosts.filter(({ change }) => change !== 'none');
  const rows = changed.map((host) => [
    host.host ?? host.id,
    host.site,
    host.change,
    `${shortSha(host.applied_sha)} ${host.applied_sequence === null ? '' : `(${host.applied_sequence})`}`.trim(),
    shortSha(host.desired_sha),
    host.has_checked_in ? 'yes' : 'no',
  ]);
  const head = ['HOST', 'SITE', 'CHANGE', 'RUNS', 'DESIRED', 'CHECKED IN'];
  return rows.length === 0 ? facts : `${facts}\n\n${formatTable(head, rows, width)}`;
}

function formatArchives({ archives, more_archives: more }: RestoreReview, { width, nowMs }: Session): string {
  if (archives.length === 0) return '';
  const rows = archives.map(({ sha256, stored_at, env, name, version, sequence }) => [
    sha256.slice(0, 12),
    formatAge(stored_at, nowMs),
    env ?? 'unreadable',
    name ?? '',
    version ?? '',
    sequence === null ? '' : String(sequence),
  ]);
  const table = formatTable(['ARCHIVE', 'STORED', 'ENV', 'NAME', 'VERSION', 'SEQUENCE'], rows, width);
  const rest = more === 0 ? '' : `\n… and ${more} older archives`;
  return `archives without a bundle (\`deployctl restore adopt ARCHIVE\` makes one):\n${table}${rest}`;
}

async function adopt(session: Session, [begins]: [string]): Promise<Result> {
  const api = await session.api();
  const sha256 = begins.length === 64 ? begins : await wholeArchive(session, begins);
  const call = { method: 'POST', path: path`/v1/restore/archives/${sha256}/adopt` } as const;
  const json = await api.call<PushedBundle>(call);
  const { env, name, version, sequence, warnings } = json;
  const text = formatFacts([
    ['adopted', json.sha256],
    ['env', env],
    ['bundle', `${name} ${version}, sequence ${sequence}`],
    ...warningFacts(warnings),
    ['next', `deployctl promote ${env} ${shortSha(json.sha256)}`],
  ]);
  return { json, text };
}

async function wholeArchive(session: Session, begins: string): Promise<string> {
  const { archives } = await readReview(session);
  const [found, ...more] = archives.filter(({ sha256 }) => sha256.startsWith(begins));
  if (found !== undefined && more.length === 0) return found.sha256;
  throw new CtlError({
    exit: exits.failed,
    code: 'ARCHIVE_NOT_FOUND',
    message: `${found === undefined ? 'no archive' : 'more than one archive'} without a bundle begins with ${begins}`,
    remedy: '`deployctl restore review` lists the archives',
  });
}

/** The service compares the desired bundle with the reviewed one. */
async function release(session: Session, [env]: [string], options: { confirm?: boolean }): Promise<Result> {
  const json = await readReview(session, env);
  const [held] = json.envs;
  if (held === undefined) throw new CtlError({ exit: exits.failed, code: 'ENV_NOT_HELD', message: nothingHeld(env) });
  if (options.confirm !== true)
    throw new CtlError({
      exit: exits.failed,
      code: 'CONFIRM_REQUIRED',
      message: `hosts of ${env} would get orders again\n${formatHeld(held, session)}`,
      remedy: `\`deployctl restore release ${env} --confirm\``,
    });
  const api = await session.api();
  const call = {
    method: 'POST',
    path: path`/v1/envs/${env}/release`,
    json: { desired_sha: held.desired_sha },
  } as const;
  const details = await api.call<EnvDetails>(call);
  return { json: details, text: `environment ${env} is released: its hosts get orders at their next check-in` };
}
