import { arch, hostname, platform } from 'node:os';
import { Fault } from '../../../../machines/fault.ts';
import type { ObservedState, DesiredState } from '../../../../machines/types.ts';
import type { CheckInRequest } from '../../../protocol/checkIn.ts';
import { isDefaultPolicy } from '../../../protocol/hostPolicy.ts';
import { tenancyErrorCodes } from '../../../protocol/tenancyErrorCodes.ts';
import { deferringFactsOf } from '../../rules/schedule/deferral.ts';
import { desiredStateOf } from '../../rules/state/desiredState.ts';
import { countHoldFromNow } from '../../adapters/state/holdFile.ts';
import { withCheckInBackoff } from './checkInBackoff.ts';
import { callAuthenticated } from '../token/authenticatedCall.ts';
import type { Dependencies } from '../dependencies.ts';

/** Sends the applied release and its health to the tenancy service; returns the desired state (spec §10). */
export async function checkIn(
  deps: Dependencies,
  { observed }: { observed: ObservedState },
  signal: AbortSignal,
): Promise<DesiredState> {
  const { recordDecision, settings, state, tenancy, tick } = deps;
  const { env, production } = settings;
  const { applied_sha } = state.state;
  const { windows, emergency: obeysEmergency } = settings.apply;
  const restraints = { hold: tick.hold ?? null, windows, obeysEmergency };
  const body = { ...requestOf(deps, observed), ...deferringFactsOf(restraints, new Date()) };
  const sendCheckIn = async (attempts: number) => {
    const response = await tenancy.checkIn(body, signal, attempts);
    if (response.env !== env) throw envMismatchFault(response.env, env);
    return response;
  };
  const { answer, wasOverdue, pace } = await withCheckInBackoff(deps, (attempts) =>
    callAuthenticated(deps, () => sendCheckIn(attempts), signal),
  );
  const at = new Date();
  await state.update({
    last_check_in: { at: at.toISOString(), action: answer.action, desired_sha: answer.desiredSha },
    ...(answer.production && state.state.baseline && { baseline: { ...state.state.baseline, volumes: null } }),
    pace,
    offline_since: null,
  });
  tick.wasOverdue = wasOverdue;
  await countHoldFromNow(settings.state_dir, at);
  const desired = desiredStateOf(answer, { state: state.state, observed, production, ...restraints, now: at });
  const { action, desiredSha, retryDelay, deferral, reason } = desired;
  tick.journal.info(`check-in: action=${action} desired=${desiredSha ?? 'none'} applied=${applied_sha ?? 'none'}`);
  recordDecision({ word: 'desired', action, desired: desiredSha, applied: applied_sha, reason });
  if (deferral !== null) recordDecision({ word: 'deferred', by: deferrers[deferral.ending] });
  if (retryDelay !== null) recordDecision({ word: 'paused', seconds: retryDelay.retryInS });
  return desired;
}

/** Who defers what is desired, by the ending. */
const deferrers = { held: 'hold', outsideWindow: 'window', converged: 'leader' } as const;

/** What a check-in tells of this host, besides what defers its work. */
function requestOf({ settings, state, version }: Dependencies, observed: ObservedState): CheckInRequest {
  const { env, site, transport, laptop_mode, limits, policy } = settings;
  return {
    agent: { version, transport, laptop_mode },
    env,
    site,
    host: { name: hostname(), arch: arch(), os: platform() },
    applied_sha: state.state.applied_sha,
    healthy: observed.healthy,
    containers: observed.containers,
    ...(observed.swarm && {
      swarm: { ...observed.swarm, leader: observed.engineAvailable && observed.leader === null },
    }),
    policy: { limits, ...(isDefaultPolicy(policy) ? {} : policy) },
  };
}

function envMismatchFault(tokenEnv: string, configuredEnv: string): Fault {
  const code = tenancyErrorCodes.envMismatch;
  return new Fault('envMismatch', `${code}: the token belongs to env ${tokenEnv}, config.yaml says ${configuredEnv}`, {
    code,
  });
}
