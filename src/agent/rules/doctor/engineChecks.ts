import { composeRangeOf } from '../compose/composeRange.ts';
import { type Check, checkResult, type FileFacts, type ProgramUser, unknownCheck } from '../../../core/doctor.rules.ts';

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
      { problem: `there is no socket ${path}`, fix: `sudo systemctl enable --now ${unitOf(path)}` },
    ]);
  if (writable === false) {
    const problem = `${agent.name} may not use ${path}`;
    return checkResult('engine', path, [{ problem, fix: accessFix(path, group, agent) }]);
  }
  if (error !== null && writable === null) return unknownCheck('engine', error);
  const fix = `sudo systemctl restart ${unitOf(path)}`;
  return checkResult('engine', path, error === null ? [] : [{ problem: error, fix }]);
}

/** The systemd unit behind a socket: Podman's names it in its path. */
function unitOf(path: string): string {
  return path.includes('podman') ? 'podman.socket' : 'docker';
}

/** The group of root would give the agent more than the engine. */
function accessFix(path: string, group: string, { name }: ProgramUser): string {
  return group === 'root'
    ? `give ${path} and its directory a group other than root, and ${name} that group: SocketGroup= of its unit`
    : `sudo usermod -aG ${group} ${name}`;
}

/** Checks the compose program; `error` is null when it is usable, `podman` the version of that engine if it is one. */
export function checkComposeProgram(error: string | null, podman: string | null): Check {
  const { before } = composeRangeOf(podman);
  const install = `sudo apt-get install ${podman === null ? 'docker-compose-plugin' : 'docker-compose'}`;
  const fix = before === null ? install : 'name a compose that works as compose: in config.yaml, or use a newer Podman';
  const findings = error === null ? [] : [{ problem: error, fix }];
  return checkResult('compose', error === null ? 'v2, new enough' : 'missing or of another version', findings);
}
