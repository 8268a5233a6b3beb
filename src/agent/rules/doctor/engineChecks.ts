import { formatGibibytes } from '../../../platform/text/formatGibibytes.ts';
import { checkResult, unknownCheck, type Check } from './diagnosis.ts';
import type { ProgramUser, FileFacts } from '../../../platform/host/hostFacts.ts';
import type { Fact } from '../../../platform/fact.ts';

/** Facts of the container engine. */
export interface EngineFacts {
  socket: FileFacts;
  /** Name of the group that owns the socket. */
  group: string;
  /** Error of a request to it, null when it responded. */
  error: string | null;
}

/** A filesystem, the free space that it must have, and for which purpose. */
export interface DiskSpaceFacts {
  paths: readonly string[];
  freeBytes: number | null;
  neededBytes: number;
  purpose: 'images' | 'state';
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

/** Checks the free space for a pull and for the state on every filesystem (spec §5.8). */
export function checkDiskSpace(filesystems: Fact<readonly DiskSpaceFacts[]>): Check {
  if ('unknown' in filesystems) return unknownCheck('disk', filesystems.unknown);
  const detail = filesystems.known
    .map(({ paths, freeBytes }) => `${formatFreeSpace(freeBytes)} free on ${paths.join(', ')}`)
    .join('; ');
  const findings = filesystems.known.flatMap(({ paths, freeBytes, neededBytes, purpose }) => {
    const where = paths.join(', ');
    if (freeBytes === null)
      return [{ problem: `cannot tell how much is free on ${where}`, fix: `df -h ${paths.join(' ')}` }];
    if (freeBytes >= neededBytes) return [];
    const problem = `${formatFreeSpace(freeBytes)} free on ${where}, ${formatGibibytes(neededBytes, Math.ceil)} must be`;
    return [{ problem, fix: purpose === 'images' ? 'sudo docker system prune' : `sudo du -xsh ${where}/*` }];
  });
  return checkResult('disk', detail, findings);
}

function formatFreeSpace(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : formatGibibytes(bytes, Math.floor);
}
