import { statSync, type Stats } from 'node:fs';
import { readRegular } from '../../../platform/regularFile.ts';
import { diskFault, isENOENT } from '../files/files.ts';

/** The command may not work on this state directory as this user; the message says what to do. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/**
 * Started as root, becomes the owner of `stateDir` with all his groups, so that nothing of root's is left in there; root
 * stays root where root owns it. From here on new files are for the owner alone (umask 077). Throws NotAllowed for any other
 * user, and when there is no such directory.
 */
export function becomeOwner(stateDir: string): void {
  process.umask(0o077);
  const { uid, gid } = stateOf(stateDir);
  const self = process.getuid?.();
  if (self === uid) return;
  const owner = accountOf(uid);
  if (self === 0) {
    become(owner ?? { uid, gid, name: null });
    return;
  }
  const alien = accountOf(self ?? -1)?.name ?? `uid ${self ?? 'unknown'}`;
  const name = owner?.name ?? `uid ${uid}`;
  throw new NotAllowed(
    `deployd runs as ${name} (owner of ${stateDir}), not as ${alien}: use sudo, or become that user`,
  );
}

/** A user of this system. */
export interface Account {
  /** Null for a user that /etc/passwd does not know. */
  name: string | null;
  uid: number;
  gid: number;
}

/** The type declarations of Node leave it out. */
interface WithInitgroups {
  initgroups(name: string, gid: number): void;
}

function stateOf(stateDir: string): Stats {
  const make = `install -d -m 0700 -o deployd -g deployd ${stateDir}`;
  let found: Stats;
  try {
    found = statSync(stateDir);
  } catch (error) {
    const why = isENOENT(error) ? 'does not exist' : 'cannot be reached by this user';
    throw new NotAllowed(`the state directory ${stateDir} ${why}; to make it: sudo ${make}`);
  }
  if (!found.isDirectory()) throw new NotAllowed(`${stateDir} is not a directory; move it away, then: sudo ${make}`);
  return found;
}

/** Of the system's user list, null when it does not know the uid; later lines of the same uid are aliases. */
export function accountOf(uid: number): Account | null {
  const users = usersOf().map((line) => line.split(':'));
  const fields = users.find(([, , id]) => id === String(uid));
  return fields === undefined ? null : { name: fields[0] ?? null, uid, gid: Number(fields[3]) };
}

/** Nobody's groups are known without it. */
function usersOf(): string[] {
  const path = '/etc/passwd';
  try {
    return readRegular(path).toString('utf8').split('\n');
  } catch (error) {
    throw new NotAllowed(`${diskFault('read', path, error).message}; deployd has to know its user`);
  }
}

function become({ name, uid, gid }: Account): void {
  if (name === null) process.setgroups?.([gid]);
  else (process as unknown as WithInitgroups).initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
