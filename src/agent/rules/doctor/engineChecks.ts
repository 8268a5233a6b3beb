import { checkResult, unknownCheck, type Check } from '../../../doctor/diagnosis.ts';
import type { ProgramUser, FileFacts } from '../../../platform/host/hostFacts.ts';

/** Facts of the container engine. */
export interface EngineFacts {
  socket: FileFacts;
  /** Name of the group that owns the socket. */
  group: string;
  /** Error of a request to it, null when it responded. */
  error: string | null;
}

/** Checks that the engine's socket exists, is accessible to the agent, and responds. */
export function checkEngine({ socket, group, error }: EngineFacts, agent: ProgramUser): Check {
  const { path, found, writable } = socket;
  if (found === 'hidden') return unknownCheck('engine', `${path} cannot be seen by this user: use sudo`);
  if (found === null)
    return checkResult('engine', path, [
      { problem: `there is no socket ${path}`, fix: 'sudo systemctl enable --now docker' },
    ]);
  if (writable === false) {
    const problem = `${agent.name} may not use ${path}`;
    return checkResult('engine', path, [{ problem, fix: `sudo usermod -aG ${group} ${agent.name}` }]);
  }
  if (error !== null && writable === null) return unknownCheck('engine', error);
  return checkResult('engine', path, error === null ? [] : [{ problem: error, fix: 'sudo systemctl restart docker' }]);
}

/** Checks the compose program; `error` is null when it is usable. */
export function checkComposeProgram(error: string | null): Check {
  const findings = error === null ? [] : [{ problem: error, fix: 'sudo apt-get install docker-compose-plugin' }];
  return checkResult('compose', error === null ? 'v2, new enough' : 'missing or too old', findings);
}
