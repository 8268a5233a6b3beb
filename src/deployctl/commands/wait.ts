import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, hostIdOf, isId, type Page, path, readPages } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { countOption, shaOption } from '../core/input.ts';
import { describeHost, formatTime, hostLabel, shortSha } from '../core/table.ts';
import type { Backend, BackendDetails, EnvDetails, ReceivedReport, Rollout } from '../core/types.ts';

/** `deployctl wait`. */
export function addWait(program: Command, run: Run): void {
  program
    .command('wait')
    .description('Wait until all hosts of an environment (or one host) run the desired bundle')
    .argument('<env-or-host>', 'name of an environment, or name or id of a host')
    .option('--timeout <seconds>', 'maximum time to wait', countOption, 900)
    .option('--bundle <sha>', 'stop with exit code 3 as soon as another bundle is desired', shaOption)
    .option('--allow-empty', 'succeed if the environment has no active host')
    .option('--allow-offline', 'do not wait for servers that are offline')
    .option('--interval <seconds>', 'time between two checks', countOption, 5)
    .action(run(wait));
}

interface WaitOptions {
  timeout: number;
  interval: number;
  bundle?: string;
  allowEmpty?: boolean;
  allowOffline?: boolean;
}

async function wait(
  session: Session,
  [text]: [string],
  { timeout, interval, bundle, allowEmpty = false, allowOffline = false }: WaitOptions,
): Promise<Result> {
  const { clock, io } = session;
  const api = await session.api();
  const deadline = clock.now() + timeout * 1000;
  const [target, oldReports] = [{ name: text, id: isId(text) ? text : null }, new Set<string>()];
  for (let told: string | null = null; ;) {
    const isOver = clock.now() >= deadline;
    const nowMs = session.nowMs + timeout * 1000 - (deadline - clock.now());
    const seen = await look(api, target, { bundle, allowOffline, nowMs }).catch(unlessTemporary(isOver));
    if (seen !== null) {
      const { applied, waiting } = seen;
      if (applied.length + waiting.length === 0 && !allowEmpty) throw noActiveHost(text, seen.desired);
      const line = formatConvergence(seen);
      if (isDone(seen)) return { json: seen.json, text: line };
      if (line !== told) io.stderr.write(`${line}\n`);
      await requireHope(api, seen, { nowMs, oldReports, isFirst: told === null });
      if (isOver) throw timedOut(seen);
      told = line;
    }
    await clock.sleep(Math.min(interval * 1000, Math.max(0, deadline - clock.now())));
  }
}

/** The awaited environment, or the host with this id. */
interface Target {
  name: string;
  id: string | null;
}

interface Looked {
  json: object;
  desired: string;
  /** True for a bundle that does not wait for maintenance windows. */
  isEmergency: boolean;
  backends: Backend[];
  rollout: Rollout | null;
}

/** The result of a look: the API's object, and the progress of its hosts. */
type Seen = Looked & Convergence;

interface LookOptions {
  bundle: string | undefined;
  allowOffline: boolean;
  nowMs: number;
}

async function look(api: Api, target: Target, { bundle, ...options }: LookOptions): Promise<Seen> {
  const looked = target.id === null ? await lookAtTarget(api, target) : await lookAtHost(api, target.id);
  if (bundle !== undefined && !looked.desired.startsWith(bundle)) throw superseded(target.name, looked.desired);
  return { ...looked, ...convergenceOf(looked.backends, target.id === null ? options : null) };
}

function readEnv(api: Api, name: string): Promise<EnvDetails> {
  return api.call({ method: 'GET', path: path`/v1/envs/${name}` });
}

/** A name is the name of an environment; if there is none, it is the name of a host. */
async function lookAtTarget(api: Api, target: Target): Promise<Looked> {
  const { name } = target;
  const env = await readEnv(api, name).catch((error: unknown) => {
    if (error instanceof CtlError && error.fields.code === 'ENV_NOT_FOUND') return error;
    throw error;
  });
  if (env instanceof CtlError) {
    target.id = await hostIdOf(api, name).catch((error: unknown) => {
      throw error instanceof CtlError && error.fields.code === 'HOST_UNKNOWN' ? env : error;
    });
    return lookAtHost(api, target.id);
  }
  if (env.held_since) throw heldEnv(name);
  const rollout = await runningRollout(api, name);
  const desired = desiredOf(env, name);
  const query = { env: name, state: 'active,offline' };
  const call = { path: '/v1/backends', query, key: 'backends', cursor: 'after', limit: Infinity } as const;
  const json: Page<'backends', Backend> = await readPages(api, call);
  return { json, desired, isEmergency: env.desired?.emergency === true, backends: json.backends, rollout };
}

async function lookAtHost(api: Api, id: string): Promise<Looked> {
  const json = await readBackend(api, id);
  if (['retiring', 'finishing', 'retired'].includes(json.state))
    throw failure('BACKEND_RETIRED', `host ${describeHost(json)} is ${json.state}`);
  const env = json.deferred_by === 'window' ? await readEnv(api, json.env) : null;
  const desired = desiredOf(json, hostLabel(json));
  return { json, desired, isEmergency: env?.desired?.emergency === true, backends: [json], rollout: null };
}

const running: readonly string[] = ['pending', 'updating', 'soaking', 'gated'];

/** The rollout of an environment that is at work; null without one. Throws ROLLOUT_HALTED. */
async function runningRollout(api: Api, env: string): Promise<Rollout | null> {
  const call = { method: 'GET', path: path`/v1/envs/${env}/rollout` } as const;
  const rollout = await api.call<Rollout>(call).catch((error: unknown) => {
    if (error instanceof CtlError && error.fields.exit === exits.failed) return null;
    throw error;
  });
  if (rollout?.state === 'halted') {
    const message = `the rollout of ${env} is halted by ${rollout.halted_by ?? 'somebody'}`;
    throw failure('ROLLOUT_HALTED', message, `\`deployctl rollout show ${env}\``);
  }
  return rollout !== null && running.includes(rollout.state) ? rollout : null;
}

function desiredOf({ desired_sha }: Pick<EnvDetails, 'desired_sha'>, name: string): string {
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

interface HopeFacts {
  nowMs: number;
  /** Reports that are older than the wait: their failures may be over. */
  oldReports: Set<string>;
  isFirst: boolean;
}

/** Throws if a host that is awaited does not change, or has reported a failure since the wait began. */
async function requireHope(api: Api, seen: Seen, { nowMs, oldReports, isFirst }: HopeFacts): Promise<void> {
  for (const backend of seen.waiting) {
    const obstacle = obstacleOf(backend, seen.isEmergency, nowMs);
    if (obstacle !== null) throw failure(obstacle.code, `${describeHost(backend)} ${obstacle.text}`, obstacle.remedy);
  }
  // A service of an older version does not send `trouble`.
  const troubled = seen.waiting.filter(({ trouble }) => trouble !== null);
  for (let start = 0; start < troubled.length; start += atOnce) {
    const some = troubled.slice(start, start + atOnce);
    for (const backend of await Promise.all(some.map(({ id }) => readBackend(api, id)))) {
      const report = failureOf(backend, oldReports);
      if (isFirst) oldReports.add(backend.last_report?.report_id ?? '');
      else if (report !== null) throw hostFailed(backend, report);
    }
  }
}

/** Calls at the same time. */
const atOnce = 10;

interface Obstacle {
  code: string;
  text: string;
  remedy: string;
}

/** The reason why a host will not apply the desired bundle soon; null without one. */
function obstacleOf(backend: Backend, isEmergency: boolean, nowMs: number): Obstacle | null {
  const { deferred_by, hold, window_opens_at: opening = null, locked_at, cloned_at } = backend;
  if (backend.applied_sha === backend.desired_sha) return null;
  const remedy = `\`deployctl host show ${hostLabel(backend)}\``;
  if (locked_at) return { code: 'HOST_LOCKED', text: 'is locked: it gets no orders', remedy };
  if (cloned_at)
    return { code: 'BACKEND_CLONED', text: 'shares its token with another host: both are refused', remedy };
  if (deferred_by === 'hold') {
    const reason = hold?.reason ? `: ${hold.reason}` : '';
    return {
      code: 'HOST_HELD',
      text: `is paused by a hold until ${hold?.until ?? 'an operator ends it'}${reason}`,
      remedy,
    };
  }
  if (deferred_by !== 'window' || isEmergency) return null;
  return {
    code: 'WINDOW_CLOSED',
    text: `waits for its maintenance window, which opens ${formatTime(opening, nowMs)}`,
    remedy,
  };
}

/** The report in which a host fails with its desired bundle; an earlier failure than the wait may be over. */
function failureOf(
  { last_report: report, desired_sha }: BackendDetails,
  oldReports: ReadonlySet<string>,
): ReceivedReport | null {
  if (report === null || oldReports.has(report.report_id)) return null;
  return report.outcome in failures && report.desired_sha === desired_sha ? report : null;
}

const failures: Readonly<Record<string, { code: string }>> = {
  refused: { code: 'REFUSED' },
  failed: { code: 'FAILED' },
  unhealthy: { code: 'UNHEALTHY' },
};

/** Lines of the output of a host that are shown. */
const tailLines = 10;

function hostFailed(backend: BackendDetails, { outcome, code, detail, output_tail }: ReceivedReport): CtlError {
  const reason = [code, detail].filter((text) => text !== null).join(': ');
  return new CtlError({
    exit: exits.failed,
    code: failures[outcome]?.code ?? 'FAILED',
    message: `${describeHost(backend)}: ${reason}`,
    details: (output_tail ?? '').trimEnd().split('\n').filter(Boolean).slice(-tailLines),
    remedy: `\`deployctl reports ${hostLabel(backend)}\``,
  });
}

/** Hosts that the error names. */
const namedHosts = 10;

function timedOut({ waiting, rollout }: Seen): CtlError {
  if (waiting.length === 0)
    return failure('TIMEOUT', `the rollout is still ${rollout?.state ?? 'at work'}`, '`deployctl rollout show ENV`');
  const known = waiting.slice(0, namedHosts).map((backend) => `${describeHost(backend)}, ${wordOf(backend)}`);
  const more = waiting.length > known.length ? [`${waiting.length - known.length} more`] : [];
  return new CtlError({
    exit: exits.failed,
    code: 'TIMEOUT',
    message: `still waiting for ${waiting.length === 1 ? '1 host' : `${waiting.length} hosts`}`,
    details: [...known, ...more],
    remedy: '`deployctl reports HOST`',
  });
}

/** Why a host does not count as done. */
function wordOf({ state, healthy, trouble, applied_sha, desired_sha }: Backend): string {
  if (state === 'offline') return 'offline';
  if (trouble) return trouble;
  if (applied_sha !== desired_sha) return 'not applied yet';
  return healthy === null ? 'health unknown' : 'unhealthy';
}

function readBackend(api: Api, id: string): Promise<BackendDetails> {
  return api.call({ method: 'GET', path: path`/v1/backends/${id}` });
}

function failure(code: string, message: string, remedy?: string): CtlError {
  return new CtlError({ exit: exits.failed, code, message, ...(remedy !== undefined && { remedy }) });
}

/** The progress of hosts towards the desired bundle. */
interface Convergence {
  /** Run it, and are healthy. */
  applied: Backend[];
  waiting: Backend[];
  /** Listed, not awaited: laptops that are silent, and servers that are offline if that is allowed. */
  absent: Backend[];
}

/** A laptop that has been silent for longer is not awaited. */
const laptopSilenceMs = 600_000;

/** Sorts hosts by their convergence; without options, none of them counts as absent. */
function convergenceOf(backends: Backend[], options: Pick<LookOptions, 'nowMs' | 'allowOffline'> | null): Convergence {
  const isAbsent = ({ laptop, state, last_seen_at }: Backend) => {
    if (options === null) return false;
    const isSilent = options.nowMs - Date.parse(last_seen_at ?? '') > laptopSilenceMs;
    return laptop ? state === 'offline' || isSilent : state === 'offline' && options.allowOffline;
  };
  const hasApplied = ({ applied_sha, desired_sha, healthy, state }: Backend) =>
    state === 'active' && healthy === true && applied_sha === desired_sha;
  const [absent, present] = [backends.filter(isAbsent), backends.filter((backend) => !isAbsent(backend))];
  return { applied: present.filter(hasApplied), waiting: present.filter((backend) => !hasApplied(backend)), absent };
}

function isDone({ waiting, rollout }: Seen): boolean {
  return waiting.length === 0 && rollout === null;
}

/** `2 of 3 hosts run 0123456789ab`: the digest only if all desire the same. */
function formatConvergence({ applied, waiting, absent, rollout }: Convergence & Pick<Looked, 'rollout'>): string {
  const all = [...applied, ...waiting];
  const desired = new Set(all.map(({ desired_sha }) => desired_sha));
  const what = desired.size === 1 ? shortSha([...desired][0] ?? null) : 'their desired bundles';
  const hosts =
    all.length === 0
      ? 'no host is active'
      : `${applied.length} of ${all.length} ${all.length === 1 ? 'host runs' : 'hosts run'} ${what}`;
  const silent =
    absent.length === 0
      ? ''
      : `; not awaited: ${absent.slice(0, namedHosts).map(hostLabel).join(', ')}${absent.length > namedHosts ? ' …' : ''}`;
  return `${hosts}${silent}${rollout === null ? '' : `; the rollout is ${rollout.state}`}`;
}
