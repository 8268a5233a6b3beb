import { Fault } from '../../../../machines/fault.ts';
import { SYSTEM_PATH } from '../../../platform/host/hostProgram.ts';
import type { Settings } from '../../config/settings.ts';
import { formatStartError, type RunResult } from './childProcess.ts';
import { formatLimitReached } from './resourceLimits.ts';

/** The environment of docker and compose, with a configuration of the agent's own: nothing of the host's users. */
export function dockerEnvironment(settings: Settings, configDir: string): Record<string, string> {
  return { PATH: SYSTEM_PATH, HOME: configDir, DOCKER_CONFIG: configDir, DOCKER_HOST: settings.container_host };
}

/** Throws the specification's line with the redacted tail unless `docker <command>` succeeded. */
export function expectSuccess(
  command: string,
  result: RunResult,
  { code, timeoutS }: { code: string; timeoutS: number },
): void {
  const { rc, timedOut, tail } = result;
  if (rc === 0 && !timedOut) return;
  const line = `failed: docker ${command} failed (rc=${rc})${failureReason(result, timeoutS)}`;
  throw new Fault('failed', line, { code, tail, isTimeout: timedOut });
}

function failureReason({ timedOut, limitReached, startError }: RunResult, timeoutS: number): string {
  if (timedOut) return `: timed out after ${timeoutS}s`;
  if (startError !== null) return `: it ${formatStartError(startError)}`;
  return limitReached === null ? '' : `: ${formatLimitReached(limitReached)}`;
}
