import { gibibytes } from '../release/disk.ts';
import { checked, unseen, type Agent, type Check, type FileFacts } from './doctor.ts';
import type { Known } from '../plan/plan.ts';

/** The container engine as the agent meets it. */
export interface EngineFacts {
  socket: FileFacts;
  /** Name of the group that owns the socket. */
  group: string;
  /** What it said when it was asked; null when it answered. */
  fault: string | null;
}

/** A filesystem, what it must have free, and for what. */
export interface RoomFacts {
  paths: readonly string[];
  freeBytes: number | null;
  neededBytes: number;
  purpose: 'images' | 'state';
}

/** There, open to the agent, and answering. */
export function judgeEngine({ socket, group, fault }: EngineFacts, agent: Agent): Check {
  const { path, found, writable } = socket;
  if (found === 'hidden') return unseen('engine', `${path} cannot be seen by this user: use sudo`);
  if (found === null)
    return checked('engine', path, [{ what: `there is no socket ${path}`, fix: 'sudo systemctl enable --now docker' }]);
  if (writable === false) {
    const what = `${agent.name} may not use ${path}`;
    return checked('engine', path, [{ what, fix: `sudo usermod -aG ${group} ${agent.name}` }]);
  }
  if (fault !== null && writable === null) return unseen('engine', fault);
  return checked('engine', path, fault === null ? [] : [{ what: fault, fix: 'sudo systemctl restart docker' }]);
}

/** A compose that is new enough; null where there is nothing to say against it. */
export function judgeComposeProgram(fault: string | null): Check {
  const findings = fault === null ? [] : [{ what: fault, fix: 'sudo apt-get install docker-compose-plugin' }];
  return checked('compose', fault === null ? 'v2, new enough' : 'missing or too old', findings);
}

/** Room for a pull on every filesystem that it fills, and for the state (spec §5.8). */
export function judgeRoom(rooms: Known<readonly RoomFacts[]>): Check {
  if ('unknown' in rooms) return unseen('disk', rooms.unknown);
  const told = rooms.is.map(({ paths, freeBytes }) => `${freeText(freeBytes)} free on ${paths.join(', ')}`).join('; ');
  const findings = rooms.is.flatMap(({ paths, freeBytes, neededBytes, purpose }) => {
    const where = paths.join(', ');
    if (freeBytes === null)
      return [{ what: `cannot tell how much is free on ${where}`, fix: `df -h ${paths.join(' ')}` }];
    if (freeBytes >= neededBytes) return [];
    const what = `${freeText(freeBytes)} free on ${where}, ${gibibytes(neededBytes, Math.ceil)} must be`;
    return [{ what, fix: purpose === 'images' ? 'sudo docker system prune' : `sudo du -xsh ${where}/*` }];
  });
  return checked('disk', told, findings);
}

function freeText(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : gibibytes(bytes, Math.floor);
}
