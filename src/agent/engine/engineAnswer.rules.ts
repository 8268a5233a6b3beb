import { failedFault, type Fault } from '../../../machines/fault.ts';
import type { Finding } from '../../core/doctor.rules.ts';
import { causeSaid, codeOfFailure, describeCause } from '../../core/failureCauses.rules.ts';
import { visible } from '../../core/text.rules.ts';

/** An answer of a container engine that is not a success. */
interface EngineAnswer {
  statusCode: number;
  /** Its message; '' if there is none. */
  message: string;
}

/** Messages of an engine that starts or stops, or whose containerd does. */
const away = [
  /containerd\.sock/,
  /grpc: the client connection is closing|transport is closing|ttrpc: closed/,
  /(?:daemon|server) is (?:shutting down|not (?:yet )?ready)/i,
];

/**
 * The fault of an unsuccessful answer. ENGINE_ERROR: the engine works, but refuses or cannot perform the request; the
 * line contains its message, with cause and cure. DISK_INSUFFICIENT: its disk is full. RUNTIME_UNAVAILABLE: it is not
 * ready, as without a connection.
 */
export function engineAnswerFault({ statusCode, message }: EngineAnswer): Fault {
  const noLeader = noLeaderFault(message);
  if (noLeader !== null) return noLeader;
  const said = visible(
    message
      .replace(/^\(HTTP code \d+\) [\w ]+ - /, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const answer = `the container engine answers ${statusCode}${said === '' ? '' : `: ${said}`}`;
  if (isAway({ statusCode, message })) return failedFault('RUNTIME_UNAVAILABLE', answer);
  const cause = causeSaid(said);
  return failedFault(
    codeOfFailure(said, 'ENGINE_ERROR'),
    cause === null ? answer : `${answer}: ${describeCause(cause)}`,
  );
}

/** True for the fault of an engine that answered, but could not perform the request. */
export function isEngineRefusal({ code }: Fault): boolean {
  return code === 'ENGINE_ERROR' || code === 'DISK_INSUFFICIENT';
}

function isAway({ statusCode, message }: EngineAnswer): boolean {
  return statusCode === 503 || (statusCode >= 500 && away.some((pattern) => pattern.test(message)));
}

/** True for output of compose or docker that says the engine could not be reached. */
export function saysEngineAway(output: string): boolean {
  return /Cannot connect to the Docker daemon|error during connect: |ttrpc: closed|client connection is closing/.test(
    output,
  );
}

/** The fault of an answer by a manager of a swarm without a leader; null for other answers. */
export function noLeaderFault(answer: string): Fault | null {
  return /does not have a leader|rpc error: .*context deadline exceeded/.test(answer)
    ? unavailableFault(noLeader)
    : null;
}

/** A swarm whose managers have no majority. */
export const noLeader: Finding = {
  problem: 'the swarm has no leader',
  fix: 'start managers until more than half of them answer (docker node ls). Running containers are not affected',
};

/** The fault RUNTIME_UNAVAILABLE of a problem, with its fix. */
export function unavailableFault({ problem, fix }: Finding): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', `${problem}; ${fix}`);
}
