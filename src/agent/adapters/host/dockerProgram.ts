import { Fault } from '../../../../machines/fault.ts';
import { causeLine, causeSaid } from '../../../core/failureCauses.rules.ts';
import { SYSTEM_PATH } from '../../../core/accounts.ts';
import type { Settings } from '../../config/settings.ts';
import { formatStartError, type RunResult } from './childProcess.ts';
import { formatLimitReached } from './resourceLimits.ts';

/** The environment of docker and compose, with a configuration of the agent's own: nothing of the host's users. */
export function dockerEnvironment(settings: Settings, configDir: string): Record<string, string> {
  return { PATH: SYSTEM_PATH, HOME: configDir, DOCKER_CONFIG: configDir, DOCKER_HOST: settings.container_host };
}

/**
 * Unless `docker <command>` succeeded, throws the specification's line, followed by cause and cure where its output tells one, with
 * that output as redacted tail. RUNTIME_UNAVAILABLE if it says that it cannot reach the engine.
 */
export function expectSuccess(
  command: string,
  result: RunResult,
  { code, timeoutS }: { code: string; timeoutS: number },
): void {
  const { rc, timedOut, tail } = result;
  if (rc === 0 && !timedOut) return;
  const cause = causeSaid(tail);
  const line = `failed: docker ${command} failed (rc=${rc})${failureReason(result, timeoutS)}`;
  const moreLines = cause === null ? [] : [causeLine(cause)];
  throw new Fault('failed', line, { code, tail, isTimeout: timedOut, moreLines });
}

function failureReason({ timedOut, limitReached, startError }: RunResult, timeoutS: number): string {
  if (timedOut) return `: timed out after ${timeoutS}s`;
  if (startError !== null) return `: it ${formatStartError(startError)}`;
  return limitReached === null ? '' : `: ${formatLimitReached(limitReached)}`;
}
