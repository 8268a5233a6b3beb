import { failedFault, type Fault } from '../../../../machines/fault.ts';
import { causeSaid, describeCause } from '../../../core/failureCauses.rules.ts';
import { visible } from '../../../core/text.rules.ts';
import { noLeaderFault } from '../swarm/leadership.ts';

/** An answer of a container engine that is no success. */
export interface EngineAnswer {
  statusCode: number;
  /** What it says; '' if nothing. */
  message: string;
}

/** What an engine answers while it starts or ends, or while its containerd does. */
const away = [
  /containerd\.sock/,
  /grpc: the client connection is closing|transport is closing|ttrpc: closed/,
  /(?:daemon|server) is (?:shutting down|not (?:yet )?ready)/i,
];

/**
 * The fault of an answer that is no success. ENGINE_ERROR: the engine works, and refuses or cannot do what was asked; the line has its
 * message, with cause and cure. RUNTIME_UNAVAILABLE: it is not ready, as without a connection.
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
  return failedFault('ENGINE_ERROR', cause === null ? answer : `${answer}: ${describeCause(cause)}`);
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
