import { createHash } from 'node:crypto';
import { arch, hostname, platform } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault, isInterruption, offlineFault, supersededFault } from '../../../machines/fault.ts';
import type { ApplyStart } from '../../../machines/services.ts';
import type { DesiredState, FaultFacts, ObservedState, ReportedContainer } from '../../../machines/types.ts';
import { type CheckInRequest, tenancyErrorCodes } from '../../api/checkIn.rules.ts';
import { isDefaultPolicy, policyBounds } from '../../api/hostPolicy.rules.ts';
import { bootId, bootTimeNow, monotonicMs } from '../../core/clock.ts';
import { readRegularFile } from '../../core/files.ts';
import { enforcedTrust, trustViolations } from '../../signatures/signatureFiles.ts';
import type { CheckInBackoff } from '../state/state.rules.ts';
import { callAuthenticated, type TokenDependencies } from '../token/token.ts';
import { peerNames } from '../transport/classifyError.rules.ts';
import { backoffS, backoffUntil, checkInDueS, isOverdue, maxAttempts } from './backoff.rules.ts';
import { deferringFactsOf, desiredStateOf, supersededBy, type WaitPurpose } from './desiredState.rules.ts';
import { countHoldFromNow } from './hold.ts';
import type { CheckInResponse } from '../../api/answers.rules.ts';
import { formatWindow } from '../../api/rolloutPlan.rules.ts';

/** Dependencies of a check-in in addition to the token. */
export interface CheckInDependencies extends TokenDependencies {
  readonly version: string;
  /** True for ticks of the loop or the timer, which no operator waits for. */
  readonly unattended: boolean;
  readonly orchestrator: {
    readonly isShared: boolean;
    observe: (applied: null) => Promise<{ containers: ReportedContainer[] }>;
  };
}

/** The hold at the start of the tick; undefined when it could not be read, so that there may be one. */
type Held = Pick<ApplyStart, 'hold'>;

/** Sends the applied release and its health to the tenancy service; returns the desired state (spec §10). */
export async function checkIn(
  deps: CheckInDependencies,
  { observed, grantRefusal, hold }: Held & { observed: ObservedState; grantRefusal: FaultFacts | null },
  signal: AbortSignal,
): Promise<DesiredState> {
  const { recordDecision, state, tick } = deps;
  const { applied_sha } = state.state;
  const { answer, wasOverdue, pace } = await withCheckInBackoff(deps, (attempts) =>
    callAuthenticated(
      deps,
      { grantRefusal, call: () => sendCheckIn(deps, { observed, attempts, hold }, signal) },
      signal,
    ),
  );
  const desired = {
    ...(await recordAnswer(deps, { answer, observed, pace, hold })),
    ...(wasOverdue && { wasOverdue }),
  };
  const { action, desiredSha, retryDelay, deferral, reason } = desired;
  tick.journal.info(`check-in: action=${action} desired=${desiredSha ?? 'none'} applied=${applied_sha ?? 'none'}`);
  recordDecision({ word: 'desired', action, desired: desiredSha, applied: applied_sha, reason });
  if (deferral !== null) recordDecision({ word: 'deferred', by: deferrers[deferral.ending] });
  if (retryDelay !== null) recordDecision({ word: 'paused', seconds: retryDelay.retryInS });
  return desired;
}

/**
 * Runs work that may wait for long, and checks in every `interval_s` meanwhile. A newer bundle or a down ends the work
 * with the fault `superseded`; a failed check-in does not.
 */
export async function whileCheckingIn<T>(
  deps: CheckInDependencies,
  purpose: WaitPurpose & Held,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const superseded = new AbortController();
  const askAgain = async () => {
    while (!superseded.signal.aborted && (await elapsed(deps.settings.interval_s * 1000, over.signal))) {
      const announced = await announcedMeanwhile(deps, purpose, AbortSignal.any([signal, over.signal]));
      if (announced !== null) superseded.abort(supersededFault(announced));
    }
  };
  const asking = askAgain();
  try {
    return await work(AbortSignal.any([signal, superseded.signal]));
  } catch (error) {
    const isSuperseded = superseded.signal.aborted && !signal.aborted && isInterruption(error);
    throw isSuperseded ? (superseded.signal.reason as Fault) : error;
  } finally {
    over.abort();
    await asking;
  }
}

/**
 * The desired state that a check-in during a wait announces instead of the awaited one; null if it is the same or the
 * check-in fails.
 */
async function announcedMeanwhile(
  deps: CheckInDependencies,
  purpose: WaitPurpose & Held,
  signal: AbortSignal,
): Promise<string | null> {
  const { orchestrator, settings, state, tick, vault } = deps;
  const { hold } = purpose;
  if (vault.candidate() !== null || !vault.hasToken() || backoffUntil(state.state.pace, new Date()) !== null)
    return null;
  try {
    const { containers } = await orchestrator.observe(null);
    const swarm = orchestrator.isShared ? (state.state.swarm ?? null) : null;
    const attemptInProgress = state.state.attempt !== null;
    const observed: ObservedState = { ...duringWait, swarm, attemptInProgress, containers };
    const answer = await sendCheckIn(deps, { observed, attempts: 1, hold }, signal);
    const pace = { due_at: addSeconds(new Date(), checkInDueS(settings.interval_s, false)), alone_until: null };
    return supersededBy(await recordAnswer(deps, { answer, observed, pace, hold }), purpose);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    tick.journal.debug(`check-in during a wait: ${error.message}`);
    return null;
  }
}

/** A host during a wait. */
const duringWait: ObservedState = {
  ...{ leader: null, swarm: null, engineAvailable: true, engineFault: null, healthy: false },
  ...{ attemptInProgress: false, unhealthyServices: [], problems: [], containers: [] },
};

/** False when the signal aborts first. */
async function elapsed(ms: number, signal: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal, ref: false }).catch(() => false);
}

async function sendCheckIn(
  deps: CheckInDependencies,
  { observed, attempts, hold }: Held & { observed: ObservedState; attempts: number },
  signal: AbortSignal,
): Promise<CheckInResponse> {
  const { env } = deps.settings;
  const body = { ...requestOf(deps, observed), ...deferringFactsOf(restraintsOf(deps, hold), new Date()) };
  const response = await deps.tenancy.checkIn(body, signal, attempts);
  if (response.env !== env) throw envMismatchFault(response.env, env);
  return response;
}

/** Records a successful check-in, and combines its response with the facts of this host. */
async function recordAnswer(
  deps: CheckInDependencies,
  { answer, observed, pace, hold }: Held & { answer: CheckInResponse; observed: ObservedState; pace: CheckInBackoff },
): Promise<DesiredState> {
  const { settings, state } = deps;
  const at = new Date();
  await state.update({
    last_check_in: { at: at.toISOString(), action: answer.action, desired_sha: answer.desiredSha },
    check_in_clock: { at: at.toISOString(), ...bootTimeNow() },
    ...(answer.production && state.state.baseline && { baseline: { ...state.state.baseline, volumes: null } }),
    pace,
    offline_since: null,
  });
  await countHoldFromNow(settings.state_dir, at);
  const { production } = settings;
  return desiredStateOf(answer, { state: state.state, observed, production, ...restraintsOf(deps, hold), now: at });
}

function restraintsOf({ settings }: CheckInDependencies, hold: Held['hold']) {
  const { windows, emergency: obeysEmergency } = settings.apply;
  return { hold: hold ?? null, windows, obeysEmergency };
}

/** The deferring party, by the ending. */
const deferrers = { held: 'hold', outsideWindow: 'window', converged: 'leader' } as const;

/** Builds the check-in body, without the hold and window fields. */
function requestOf({ settings, state, version }: CheckInDependencies, observed: ObservedState): CheckInRequest {
  const { env, site, transport, laptop_mode, interval_s, limits, policy, trust, apply } = settings;
  const services = observed.containers.map(({ service }) => service);
  const { applied_sha, highest_sequence, judged } = state.state;
  const unpermitted = applied_sha === null ? [] : (judged?.violations ?? []);
  const untrusted = trustViolations(trust, { ...state.state, services });
  const violations = [...untrusted, ...unpermitted].slice(0, policyBounds.entries);
  return {
    agent: { version, transport, laptop_mode, interval_s },
    env,
    site,
    host: { name: hostname(), arch: arch(), os: platform(), ...machineAndBoot() },
    applied_sha: state.state.applied_sha,
    ...(highest_sequence > 0 && { highest_sequence }),
    healthy: observed.healthy,
    containers: observed.containers,
    ...(observed.swarm && {
      swarm: { ...observed.swarm, leader: observed.engineAvailable && observed.leader === null },
    }),
    policy: { limits, ...(isDefaultPolicy(policy) ? {} : policy) },
    trust: enforcedTrust(trust),
    windows: apply.windows.map(formatWindow),
    ...(violations.length > 0 && { violations }),
  };
}

/** The ids in which copies of a host differ; unknown ones are omitted. */
function machineAndBoot(): Pick<CheckInRequest['host'], 'machine' | 'boot'> {
  const [machineId, boot] = [readMachineId(), bootId()];
  return {
    ...(machineId !== null && { machine: createHash('sha256').update(`deployd:${machineId}`).digest('hex') }),
    ...(/^[0-9a-f-]{32,36}$/.test(boot) && { boot }),
  };
}

/** Null without an id; systemd writes `uninitialized` into images. */
function readMachineId(): string | null {
  try {
    const id = readRegularFile('/etc/machine-id').toString('latin1').trim();
    return id === '' || id === 'uninitialized' ? null : id;
  } catch {
    return null;
  }
}

function envMismatchFault(tokenEnv: string, configuredEnv: string): Fault {
  const code = tenancyErrorCodes.envMismatch;
  return new Fault(
    'envMismatch',
    `${code}: the token belongs to environment ${tokenEnv}, config.yaml says ${configuredEnv}`,
    {
      code,
    },
  );
}

/**
 * Sends a check-in with the backoff that protects the service from a thundering herd (spec §10.4). `send` receives the maximum
 * number of attempts; `pace` is the backoff for state.json. Throws Fault `offline` while `Retry-After` holds, except in a
 * tick that an operator started.
 */
async function withCheckInBackoff<T>(
  deps: CheckInDependencies,
  send: (attempts: number) => Promise<T>,
): Promise<{ answer: T; wasOverdue: boolean; pace: CheckInBackoff }> {
  const { settings, state, unattended } = deps;
  const { pace } = state.state;
  const now = new Date();
  const startedMs = monotonicMs();
  const until = backoffUntil(pace, now);
  if (unattended && until !== null)
    throw offlineFault(
      `${peerNames.tenancy} ${new URL(settings.tenancy_url).origin}: not asked again before ${until.toISOString()}`,
    );
  const wasOverdue = unattended && isOverdue(state.state, settings.interval_s, now);
  const answer = await send(maxAttempts(wasOverdue)).catch(async (error: unknown) => {
    if (error instanceof Fault && error.ending === 'offline')
      await recordBackoff(deps, { error, wasOverdue, startedMs });
    throw error;
  });
  return {
    answer,
    wasOverdue,
    pace: { due_at: addSeconds(new Date(), checkInDueS(settings.interval_s, wasOverdue)), alone_until: null },
  };
}

async function recordBackoff(
  { state }: CheckInDependencies,
  { error, wasOverdue, startedMs }: { error: Fault; wasOverdue: boolean; startedMs: number },
): Promise<void> {
  const { last_check_in, pace } = state.state;
  const now = new Date();
  const offlineS = wasOverdue && last_check_in !== null ? (now.getTime() - Date.parse(last_check_in.at)) / 1000 : null;
  const failed = { retryAfterS: error.retryAfterS, responseS: (monotonicMs() - startedMs) / 1000, offlineS };
  const aloneS = backoffS(failed, Math.random());
  if (aloneS > 0) await state.update({ pace: { due_at: pace?.due_at ?? null, alone_until: addSeconds(now, aloneS) } });
}

/** The time so many seconds later, for state.json. */
function addSeconds(time: Date, seconds: number): string {
  return new Date(time.getTime() + seconds * 1000).toISOString();
}
