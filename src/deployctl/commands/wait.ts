import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, hostIdOf, isId, type Page, path, readPages } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { countOption, envOf, shaOption } from '../core/input.ts';
import { describeHost, harmless, hostArgument, hostLabel, shortSha } from '../core/table.ts';
import type { Backend, EnvDetails, Rollout } from '../core/types.ts';
import {
  type Convergence,
  convergenceOf,
  earlierFailureOf,
  type FailedHost,
  failureCodes,
  findFailures,
  formatConvergence,
  formatFailures,
  formatRetry,
  namedHosts,
  newestFailure,
  newestRollout,
  obstacleOf,
  readBackend,
  reasonOf,
  wordOf,
} from './convergence.ts';

/** `deployctl wait`. */
export function addWait(program: Command, run: Run): void {
  const command = program
    .command('wait')
    .description('Wait until all hosts of an environment (or one host) run the desired bundle')
    .argument('[env-or-host]', 'name of an environment, or name or id of a host (default: the only environment)')
    .option('--timeout <seconds>', 'maximum time to wait', countOption, 900)
    .option('--bundle <sha>', 'stop with exit code 3 as soon as another bundle is desired', shaOption);
  awaitedOptions(command).action(
    run(async (session, [named]: [string | undefined], options: WaitOptions) => {
      const text = await envOf(session, named);
      return waitFor(session, { name: text, id: isId(text) ? text : null }, options);
    }),
  );
}

/** `deployctl rollout wait`. */
export function addRolloutWait(rollout: Command, run: Run): void {
  const command = rollout
    .command('wait')
    .description('Wait until the latest rollout of an environment is done and all hosts run its bundle')
    .argument('<env>', 'name of the environment')
    .option('--timeout <seconds>', 'maximum time to wait', countOption, rolloutTimeout);
  awaitedOptions(command).action(
    run((session, [name]: [string], options: WaitOptions) =>
      waitFor(session, { name, id: null, rollout: 'latest' }, options),
    ),
  );
}

/** Seconds: a rollout waits for soaks, gates and windows, and has a deadline for each wave. */
export const rolloutTimeout = 86_400;

/** The options for the awaited hosts, and for the time between two checks. */
export function awaitedOptions(command: Command): Command {
  return command
    .option('--allow-empty', 'succeed if the environment has no active host')
    .option('--allow-offline', 'do not wait for servers that are offline')
    .option('--interval <seconds>', 'time between two checks', countOption, 5);
}

/** The options of a wait; times in seconds. */
export interface WaitOptions {
  timeout: number;
  interval: number;
  bundle?: string;
  allowEmpty?: boolean;
  allowOffline?: boolean;
}

/** The awaited environment, or the host with this id. */
export interface Target {
  name: string;
  id: string | null;
  /** Id of the awaited rollout, or `latest`; without it, no rollout is required. */
  rollout?: string;
}

/**
 * Waits until all hosts run the desired bundle. Throws as soon as a host that is awaited fails or will not apply it
 * soon, a rollout is halted, or the time is over.
 */
export async function waitFor(session: Session, target: Target, options: WaitOptions): Promise<Result> {
  const { timeout, interval, bundle, allowEmpty = false, allowOffline = false } = options;
  const { clock, io } = session;
  const api = await session.api();
  const begin = clock.now();
  const deadline = begin + timeout * 1000;
  for (let told: string | null = null; ;) {
    const isOver = clock.now() >= deadline;
    const nowMs = session.nowMs + clock.now() - begin;
    const seen = await look(api, target, { bundle, allowOffline, nowMs }).catch(unlessTemporary(isOver));
    if (seen !== null) {
      const { applied, waiting } = seen;
      if (applied.length + waiting.length === 0 && !allowEmpty) throw noActiveHost(target.name, seen.desired);
      const line = formatConvergence(seen, seen.rollout);
      if (isDone(seen)) return { json: seen.json, text: line };
      if (line !== told) io.stderr.write(`${line}\n`);
      await requireHope(api, seen, nowMs);
      if (told === null)
        for (const text of await earlierFailures(api, seen, nowMs)) io.stderr.write(`${harmless(text)}\n`);
      if (isOver) throw timedOut(seen, target.name);
      told = line;
    }
    await clock.sleep(Math.min(interval * 1000, Math.max(0, deadline - clock.now())));
  }
}

interface Looked {
  json: object;
  desired: string;
  /** True for a bundle that does not wait for maintenance windows. */
  isEmergency: boolean;
  backends: Backend[];
  /** The rollout that is at work. */
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
    if (target.rollout !== undefined) throw env;
    target.id = await hostIdOf(api, name).catch((error: unknown) => {
      throw error instanceof CtlError && error.fields.code === 'HOST_UNKNOWN' ? env : error;
    });
    return lookAtHost(api, target.id);
  }
  if (env.held_since) throw heldEnv(name);
  const newest = await readRollout(api, target);
  const rollout = newest !== null && running.includes(newest.state) ? newest : null;
  // A rollout makes its bundle the desired one of the environment when it is done.
  const desired = rollout?.sha256 ?? desiredOf(env, name);
  if (target.rollout !== undefined && newest !== null && desired !== newest.sha256) throw superseded(name, desired);
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

/**
 * The newest rollout of an environment; null without one. Throws ROLLOUT_HALTED, and if a rollout is awaited also
 * ROLLOUT_NOT_FOUND, ROLLOUT_ABORTED, and DESIRED_DIFFERS for another one.
 */
async function readRollout(api: Api, target: Target): Promise<Rollout | null> {
  const { name: env, rollout: awaited } = target;
  const rollout = await newestRollout(api, env);
  if (rollout === null && awaited === undefined) return null;
  if (rollout === null) throw failure('ROLLOUT_NOT_FOUND', `environment ${env} has had no rollout`);
  const { id, state, sha256 } = rollout;
  if (awaited !== undefined && awaited !== 'latest' && id !== awaited) throw superseded(env, sha256);
  if (awaited !== undefined) target.rollout = id;
  if (state === 'halted') throw await haltedRollout(api, env, rollout);
  if (state === 'aborted' && awaited !== undefined)
    throw failure('ROLLOUT_ABORTED', `the rollout of ${env} was aborted`, `\`deployctl rollout show ${env}\``);
  return rollout;
}

/** The error of a halted rollout, with the failures of its hosts. */
async function haltedRollout(api: Api, env: string, { halted_by, failed_hosts }: Rollout): Promise<CtlError> {
  const hosts = await Promise.all(failed_hosts.slice(0, namedHosts).map(({ id }) => readBackend(api, id)));
  const failed = hosts.flatMap((host) => {
    const report = newestFailure(host);
    return report === null ? [] : [{ host, report }];
  });
  const { message, details } = formatFailures(failed);
  return new CtlError({
    exit: exits.failed,
    code: 'ROLLOUT_HALTED',
    message: `the rollout of ${env} is halted by ${halted_by ?? 'somebody'}`,
    details: failed.length === 1 ? [message, ...details] : details,
    remedy: `\`deployctl rollout show ${env}\``,
  });
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

/** Throws if a host that is awaited does not change, or has failed; a rollout decides itself how many may fail. */
async function requireHope(api: Api, { waiting, rollout, isEmergency }: Seen, nowMs: number): Promise<void> {
  for (const backend of waiting) {
    const obstacle = obstacleOf(backend, isEmergency, nowMs);
    if (obstacle !== null) throw failure(obstacle.code, `${describeHost(backend)} ${obstacle.text}`, obstacle.remedy);
  }
  if (rollout !== null) return;
  const failed = await findFailures(api, waiting);
  if (failed.length > 0) throw hostsFailed(failed);
}

/** The failures of before the bundle was promoted again: they end no wait, but their hosts pause. */
async function earlierFailures(api: Api, { waiting, rollout }: Seen, nowMs: number): Promise<string[]> {
  const failed = rollout === null ? await findFailures(api, waiting, earlierFailureOf) : [];
  return failed.map(
    ({ host, report }) =>
      `${describeHost(host)} failed with this bundle before: ${reasonOf(report)}; it tries again ${formatRetry(report, nowMs)}`,
  );
}

function hostsFailed(failed: readonly FailedHost[]): CtlError {
  const [first] = failed;
  const remedies = failed.map(({ host }) => `\`deployctl reports ${hostArgument(host)}\``);
  return new CtlError({
    exit: exits.failed,
    code: failureCodes[first?.report.outcome ?? '']?.code ?? 'FAILED',
    ...formatFailures(failed),
    remedy: remedies.join('\n'),
  });
}

function timedOut({ waiting, rollout }: Seen, name: string): CtlError {
  if (waiting.length === 0)
    return failure(
      'TIMEOUT',
      `the rollout is still ${rollout?.state ?? 'at work'}`,
      `\`deployctl rollout show ${name}\``,
    );
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

function failure(code: string, message: string, remedy?: string): CtlError {
  return new CtlError({ exit: exits.failed, code, message, ...(remedy !== undefined && { remedy }) });
}

function isDone({ waiting, rollout }: Seen): boolean {
  return waiting.length === 0 && rollout === null;
}
