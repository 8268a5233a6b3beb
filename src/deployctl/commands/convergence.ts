import { retryPauseMs } from '../../api/checkIn.rules.ts';
import { type Api, path } from '../core/client.ts';
import { CtlError } from '../core/ctlError.ts';
import { describeHost, formatTime, hostArgument, hostLabel, shortSha } from '../core/table.ts';
import type { Backend, BackendDetails, ReceivedReport, Rollout } from '../core/types.ts';

/** The progress of hosts towards the desired bundle. */
export interface Convergence {
  /** Run it, and are healthy. */
  applied: Backend[];
  waiting: Backend[];
  /** Listed, not awaited: laptops that are silent, and servers that are offline if that is allowed. */
  absent: Backend[];
}

/** The time of the look, and whether servers that are offline count as absent. */
export interface PresenceOptions {
  nowMs: number;
  allowOffline: boolean;
}

/** A laptop that has been silent for longer is not awaited. */
const laptopSilenceMs = 600_000;

/** Sorts hosts by their convergence; without options, none of them counts as absent. */
export function convergenceOf(backends: Backend[], options: PresenceOptions | null): Convergence {
  const isAbsent = (backend: Backend) =>
    options !== null &&
    (isAsleep(backend, options.nowMs) || (!backend.laptop && backend.state === 'offline' && options.allowOffline));
  const [absent, present] = [backends.filter(isAbsent), backends.filter((backend) => !isAbsent(backend))];
  return { applied: present.filter(hasApplied), waiting: present.filter((backend) => !hasApplied(backend)), absent };
}

/** True for a laptop that is silent, which is normal. */
export function isAsleep({ laptop, state, last_seen_at }: Backend, nowMs: number): boolean {
  return laptop && (state === 'offline' || nowMs - Date.parse(last_seen_at ?? '') > laptopSilenceMs);
}

/** True for a host that runs its desired bundle and is healthy. */
export function hasApplied({ applied_sha, desired_sha, healthy, state }: Backend): boolean {
  return state === 'active' && healthy === true && applied_sha === desired_sha;
}

/** Hosts that a line names. */
export const namedHosts = 10;

/** `2 of 3 hosts run 0123456789ab`: the digest of the rollout, or the desired one if all desire the same. */
export function formatConvergence({ applied, waiting, absent }: Convergence, rollout: RolloutState | null): string {
  const all = [...applied, ...waiting];
  const [sha = null, ...more] = new Set(all.map(({ desired_sha }) => desired_sha));
  const target = rollout?.sha256 ?? (more.length === 0 ? sha : null);
  const done = rollout === null ? applied : applied.filter(({ applied_sha }) => applied_sha === target);
  const what = target === null ? 'their desired bundles' : shortSha(target);
  const hosts =
    all.length === 0
      ? 'no host is active'
      : `${done.length} of ${all.length} ${all.length === 1 ? 'host runs' : 'hosts run'} ${what}`;
  const silent = absent.length === 0 ? '' : `; not awaited: ${namesOf(absent)}`;
  return `${hosts}${silent}${rollout === null ? '' : `; the rollout is ${formatProgress(rollout)}`}`;
}

type RolloutState = Pick<Rollout, 'sha256' | 'state' | 'started' | 'waves'>;

/** The names of hosts, of at most ten. */
export function namesOf(hosts: readonly Backend[]): string {
  const more = hosts.length > namedHosts ? ` and ${hosts.length - namedHosts} more` : '';
  return `${hosts.slice(0, namedHosts).map(hostLabel).join(', ')}${more}`;
}

/** `soaking, wave 1 of 3`: the state of a rollout with its current wave. */
export function formatProgress({ state, started, waves }: RolloutState): string {
  return started === 0 ? state : `${state}, wave ${started} of ${waves.length}`;
}

/** Why a host does not count as done. */
export function wordOf({ state, healthy, trouble, applied_sha, desired_sha }: Backend): string {
  if (state === 'offline') return 'offline';
  if (trouble) return trouble;
  if (applied_sha !== desired_sha) return 'not applied yet';
  return healthy === null ? 'health unknown' : 'unhealthy';
}

/** A reason why a host will not apply its desired bundle soon. */
export interface Obstacle {
  code: string;
  /** The state of the host in two words or less. */
  word: string;
  text: string;
  remedy: string;
}

/** The reason why a host will not apply the desired bundle soon; null without one. */
export function obstacleOf(backend: Backend, isEmergency: boolean, nowMs: number): Obstacle | null {
  const { deferred_by, hold, window_opens_at: opening = null, locked_at, cloned_at } = backend;
  if (backend.applied_sha === backend.desired_sha) return null;
  const remedy = `\`deployctl host show ${hostArgument(backend)}\``;
  if (locked_at) return { code: 'HOST_LOCKED', word: 'locked', text: 'is locked: it gets no orders', remedy };
  if (cloned_at) {
    const text = 'shares its token with another host: both are refused';
    return { code: 'BACKEND_CLONED', word: 'cloned', text, remedy };
  }
  if (deferred_by === 'hold') {
    const reason = hold?.reason ? `: ${hold.reason}` : '';
    const text = `is paused by a hold until ${hold?.until ?? 'an operator ends it'}${reason}`;
    return { code: 'HOST_HELD', word: 'held', text, remedy };
  }
  if (deferred_by !== 'window' || isEmergency) return null;
  const text = `waits for its maintenance window, which opens ${formatTime(opening, nowMs)}`;
  return { code: 'WINDOW_CLOSED', word: 'waits for window', text, remedy };
}

/**
 * The report in which a host fails with its desired bundle. It counts if the service received it after the promotion of
 * this bundle: an earlier failure may be over. A service of an older version does not send when that was.
 */
export function failureOf({ last_report: report, desired_sha, desired_since }: BackendDetails): ReceivedReport | null {
  if (report === null || !(report.outcome in failureCodes) || report.desired_sha !== desired_sha) return null;
  const isEarlier = Date.parse(report.received_at) < Date.parse(desired_since ?? '');
  return isEarlier ? null : report;
}

/** The failure of a host with its desired bundle from before the promotion: the bundle was promoted again. */
export function earlierFailureOf(host: BackendDetails): ReceivedReport | null {
  const report = newestFailure(host);
  return report?.desired_sha === host.desired_sha && failureOf(host) === null ? report : null;
}

/** When a host tries the bundle of a failure again; a refused or unhealthy bundle is checked in each tick. */
export function formatRetry({ outcome, reason, received_at }: ReceivedReport, nowMs: number): string {
  const [hasCount, count = '0'] = /^(?:sha_changed|retry:(\d{1,9}))$/.exec(reason) ?? [];
  if (outcome === 'failed' && hasCount === undefined) return 'within 30 minutes';
  const pauseMs = outcome === 'failed' ? retryPauseMs(Number(count) + 1) : 0;
  const at = Date.parse(received_at) + pauseMs;
  return at > nowMs ? `at ${formatTime(new Date(at).toISOString(), nowMs)}` : 'at its next check-in';
}

/** The newest report of a host if it is a failure, of whatever bundle. */
export function newestFailure({ last_report: report }: BackendDetails): ReceivedReport | null {
  return report !== null && report.outcome in failureCodes ? report : null;
}

/** Outcomes of reports that are failures, with the code of each. */
export const failureCodes: Readonly<Record<string, { code: string }>> = {
  refused: { code: 'REFUSED' },
  failed: { code: 'FAILED' },
  unhealthy: { code: 'UNHEALTHY' },
};

/** Lines of the output of a host that are shown. */
const tailLines = 10;

/** Why a host has failed, by its report: `CODE: detail`. */
export function reasonOf({ code, detail }: Pick<ReceivedReport, 'code' | 'detail'>): string {
  return [code, detail].filter((text) => text !== null).join(': ');
}

/** A code that colours a terminal, such as ESC [31m. */
const colour = /(?![\t\r\n])\p{Cc}\[[\d;?]*(?:[A-Za-z]|$)/gmu;

/** The last lines of the output in a report, without colours. */
export function tailOf({ output_tail }: Pick<ReceivedReport, 'output_tail'>): string[] {
  return (output_tail ?? '').replace(colour, '').trimEnd().split('\n').filter(Boolean).slice(-tailLines);
}

/** A host with the report in which it fails. */
export interface FailedHost {
  host: Backend;
  report: ReceivedReport;
}

/** The message about hosts that fail, and the lines with reason and output of each. */
export function formatFailures(failed: readonly FailedHost[]): { message: string; details: string[] } {
  const [first] = failed;
  if (first !== undefined && failed.length === 1)
    return { message: `${describeHost(first.host)}: ${reasonOf(first.report)}`, details: tailOf(first.report) };
  const details = failed.flatMap(({ host, report }) => [
    `${describeHost(host)}: ${report.outcome}: ${reasonOf(report)}`,
    ...tailOf(report).map((line) => `  ${line}`),
  ]);
  return { message: `${failed.length} hosts fail`, details };
}

/** Calls at the same time. */
const atOnce = 10;

/** The hosts that fail with their desired bundle: the first ten, with their reports. */
export async function findFailures(
  api: Api,
  hosts: readonly Backend[],
  reportOf: (host: BackendDetails) => ReceivedReport | null = failureOf,
): Promise<FailedHost[]> {
  // A service of an older version does not send `trouble`.
  const troubled = hosts.filter(({ trouble }) => trouble !== null);
  const found: FailedHost[] = [];
  for (let start = 0; start < troubled.length && found.length < namedHosts; start += atOnce) {
    const some = troubled.slice(start, start + atOnce);
    for (const host of await Promise.all(some.map(({ id }) => readBackend(api, id)))) {
      const report = reportOf(host);
      if (report !== null) found.push({ host, report });
    }
  }
  return found.slice(0, namedHosts);
}

/** The newest rollout of an environment; null without one. */
export async function newestRollout(api: Api, env: string): Promise<Rollout | null> {
  const call = { method: 'GET', path: path`/v1/envs/${env}/rollout` } as const;
  return api.call<Rollout>(call).catch((error: unknown) => {
    if (error instanceof CtlError && error.fields.code === 'ROLLOUT_NOT_FOUND') return null;
    throw error;
  });
}

/** Reads one host. */
export function readBackend(api: Api, id: string): Promise<BackendDetails> {
  return api.call({ method: 'GET', path: path`/v1/backends/${id}` });
}
