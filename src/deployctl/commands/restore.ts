import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { shaOption } from '../core/input.ts';
import { formatAge, formatFacts, formatTable, formatTime, shortSha, warningFacts } from '../core/table.ts';
import type { EnvDetails, HeldEnv, PushedBundle, RestoreReview } from '../core/types.ts';

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
