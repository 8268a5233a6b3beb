import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, type Page, path, readPages } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { countOption, shaOption } from '../core/input.ts';
import { shortSha } from '../core/table.ts';
import type { Backend, BackendDetails, Env, ReceivedReport } from '../core/types.ts';

/** `deployctl wait`. */
export function addWait(program: Command, run: Run): void {
  program
    .command('wait')
    .description('Wait until all hosts of an environment (or one host) have applied the desired bundle')
    .argument('<env-or-id>', 'name of an environment, or id of a backend')
    .option('--timeout <seconds>', 'maximum time to wait', countOption, 900)
    .option('--bundle <sha>', 'stop with exit code 3 as soon as another bundle is desired', shaOption)
    .option('--allow-empty', 'succeed if the environment has no active host')
    .option('--interval <seconds>', 'time between two checks', countOption, 5)
    .action(run(wait));
}

interface WaitOptions {
  timeout: number;
  interval: number;
  bundle?: string;
  allowEmpty?: boolean;
}

async function wait(
  session: Session,
  [target]: [string],
  { timeout, interval, bundle, allowEmpty = false }: WaitOptions,
): Promise<Result> {
  const { clock, io } = session;
  const api = await session.api();
  const deadline = clock.now() + timeout * 1000;
  const oldReports = new Set<string>();
  for (let told: string | null = null; ;) {
    const isOver = clock.now() >= deadline;
    const seen = await look(api, target, bundle).catch(unlessTemporary(isOver));
    if (seen !== null) {
      if (seen.applied.length + seen.waiting.length === 0 && !allowEmpty) throw noActiveHost(target, seen.desired);
      const line = formatConvergence(seen, shortSha);
      if (seen.waiting.length === 0) return { json: seen.json, text: line };
      if (line !== told) io.stderr.write(`${line}\n`);
      if (told === null) for (const { last_report } of seen.late) oldReports.add(last_report?.report_id ?? '');
      told = line;
      requireHope(seen, { oldReports, isOver });
    }
    await clock.sleep(Math.min(interval * 1000, Math.max(0, deadline - clock.now())));
  }
}

/** The result of a look: the API's object, and the progress of its backends; `late` are some of the awaited backends. */
interface Seen extends Convergence {
  json: object;
  desired: string;
  late: BackendDetails[];
}

/** A bundle that one host refuses, most others refuse too: it is enough to ask a few. */
const maxLate = 10;

async function look(api: Api, target: string, bundle?: string): Promise<Seen> {
  const { json, desired, backends } = isId(target) ? await lookAtBackend(api, target) : await lookAtEnv(api, target);
  if (bundle !== undefined && !desired.startsWith(bundle)) throw superseded(target, desired);
  const convergence = convergenceOf(backends);
  const ids = convergence.waiting.slice(0, maxLate).map(({ id }) => id);
  return { json, desired, ...convergence, late: await Promise.all(ids.map((id) => readBackend(api, id))) };
}

type Looked = { json: object; desired: string; backends: Backend[] };

async function lookAtEnv(api: Api, name: string): Promise<Looked> {
  const env = await api.call<Env>({ method: 'GET', path: path`/v1/envs/${name}` });
  if (env.held_since) throw heldEnv(name);
  const desired = desiredOf(env, name);
  const query = { env: name, state: 'active' };
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit: Infinity } as const;
  const json: Page<'backends', Backend> = await readPages(api, call);
  return { json, desired, backends: json.backends };
}

async function lookAtBackend(api: Api, id: string): Promise<Looked> {
  const json = await readBackend(api, id);
  if (['retiring', 'finishing', 'retired'].includes(json.state))
    throw failure('BACKEND_RETIRED', `backend ${id} is ${json.state}`);
  return { json, desired: desiredOf(json, id), backends: [json] };
}

function desiredOf({ desired_sha }: Pick<Env, 'desired_sha'>, name: string): string {
  if (desired_sha !== null) return desired_sha;
  throw failure('NOTHING_DESIRED', `nothing is desired of ${name}`, '`deployctl promote`');
}

function heldEnv(name: string): CtlError {
  const message = `environment ${name} is held since a restore of the service: its hosts get no orders`;
  return failure('ENV_HELD', message, `\`deployctl restore review ${name}\``);
}

function noActiveHost(target: string, desired: string): CtlError {
  const message = `${target} has no active host, so nothing runs ${shortSha(desired)}`;
  return failure(
    'NO_ACTIVE_HOST',
    message,
    '`deployctl kit` installs a host; --allow-empty accepts an environment without',
  );
}

function superseded(target: string, desired: string): CtlError {
  const message = `${shortSha(desired)} is desired of ${target} now`;
  return new CtlError({ exit: exits.superseded, code: 'DESIRED_DIFFERS', message });
}

/** A service that is away for a moment does not end the wait. */
function unlessTemporary(isOver: boolean) {
  return (error: unknown): null => {
    if (error instanceof CtlError && error.fields.exit === exits.temporary && !isOver) return null;
    throw error;
  };
}

function requireHope(
  { late, waiting }: Seen,
  { oldReports, isOver }: { oldReports: ReadonlySet<string>; isOver: boolean },
): void {
  for (const backend of late) {
    const refusal = refusalOf(backend, oldReports);
    if (refusal !== null) throw failure('REFUSED', `${backend.id} (${backend.site}): ${refusal.detail ?? ''}`);
  }
  if (!isOver) return;
  const known = late.map(({ id, site, last_report }) => `${id} (${site}, last ${last_report?.outcome ?? 'nothing'})`);
  const more = waiting.length > late.length ? [`${waiting.length - late.length} more`] : [];
  throw failure('TIMEOUT', `still waiting for ${[...known, ...more].join(', ')}`, '`deployctl reports ID`');
}

function readBackend(api: Api, id: string): Promise<BackendDetails> {
  return api.call({ method: 'GET', path: path`/v1/backends/${id}` });
}

function failure(code: string, message: string, remedy?: string): CtlError {
  return new CtlError({ exit: exits.failed, code, message, ...(remedy !== undefined && { remedy }) });
}

function isId(text: string): boolean {
  return /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text);
}

/** The progress of backends towards the desired bundle. */
interface Convergence {
  applied: Backend[];
  waiting: Backend[];
}

/** Sorts backends by their convergence. */
export function convergenceOf(backends: Backend[]): Convergence {
  const hasApplied = ({ applied_sha, desired_sha }: Backend) => applied_sha === desired_sha;
  return { applied: backends.filter(hasApplied), waiting: backends.filter((backend) => !hasApplied(backend)) };
}

/** `2 of 3 backends have applied 0123456789ab`: the digest only where all desire the same. */
export function formatConvergence({ applied, waiting }: Convergence, name: (sha: string | null) => string): string {
  const all = [...applied, ...waiting];
  if (all.length === 0) return 'no host is active';
  const desired = new Set(all.map(({ desired_sha }) => desired_sha));
  const what = desired.size === 1 ? name([...desired][0] ?? null) : 'their desired bundles';
  return `${applied.length} of ${all.length} backends have applied ${what}`;
}

/** The report in which a host refuses its desired bundle; an earlier refusal than the wait may be over. */
export function refusalOf(
  { last_report: report, desired_sha }: BackendDetails,
  oldReports: ReadonlySet<string>,
): ReceivedReport | null {
  if (report === null || oldReports.has(report.report_id)) return null;
  return report.outcome === 'refused' && report.desired_sha === desired_sha ? report : null;
}
