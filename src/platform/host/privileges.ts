import { statSync, type Stats } from 'node:fs';
import { readRegularFile } from '../regularFile.ts';
import { diskFault, isENOENT } from '../errors/diskFault.ts';

/** The command may not use this state directory as this user; the message says what to do. */
export class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/**
 * Started as root, switches to the owner of `stateDir` with all the owner's groups, so that root leaves no files there;
 * stays root when root is the owner. Sets umask 077. Throws NotAllowed for any other user, and when the directory is
 * absent. `program` is also the name of the user that the package makes for it; `make` is the command that makes the directory.
 */
export function dropPrivileges(stateDir: string, { program = 'deployd', make = makeFor(program) } = {}): void {
  process.umask(0o077);
  const { uid, gid } = statStateDir(stateDir, make);
  const self = process.getuid?.();
  if (self === uid) return;
  const owner = accountOf(uid);
  if (self === 0) {
    switchUser(owner ?? { uid, gid, name: null });
    return;
  }
  const selfName = accountOf(self ?? -1)?.name ?? `uid ${self ?? 'unknown'}`;
  const ownerName = owner?.name ?? `uid ${uid}`;
  throw new NotAllowed(
    `${program} runs as ${ownerName} (owner of ${stateDir}), not as ${selfName}: use sudo, or become that user`,
  );
}

/** A user of this system. */
export interface Account {
  /** Null when /etc/passwd has no such user. */
  name: string | null;
  uid: number;
  gid: number;
}

/** Missing in Node's type declarations. */
interface WithInitgroups {
  initgroups(name: string, gid: number): void;
}

function makeFor(program: string): string {
  return `sudo install -d -m 0700 -o ${program} -g ${program}`;
}

function statStateDir(stateDir: string, make: string): Stats {
  let found: Stats;
  try {
    found = statSync(stateDir);
  } catch (error) {
    const reason = isENOENT(error) ? 'does not exist' : 'cannot be reached by this user';
    throw new NotAllowed(`the state directory ${stateDir} ${reason}; to make it: ${make} ${stateDir}`);
  }
  if (!found.isDirectory())
    throw new NotAllowed(`${stateDir} is not a directory; move it away, then: ${make} ${stateDir}`);
  return found;
}

/** The account in /etc/passwd, null for an unknown uid; later lines of the same uid are aliases. */
export function accountOf(uid: number): Account | null {
  const users = readPasswd().map((line) => line.split(':'));
  const fields = users.find(([, , id]) => id === String(uid));
  return fields === undefined ? null : { name: fields[0] ?? null, uid, gid: Number(fields[3]) };
}

/** Throws NotAllowed when it cannot be read: without it the owner's groups are unknown. */
function readPasswd(): string[] {
  const path = '/etc/passwd';
  try {
    return readRegularFile(path).toString('utf8').split('\n');
  } catch (error) {
    throw new NotAllowed(`${diskFault('read', path, error).message}; deployd has to know its user`);
  }
}

function switchUser({ name, uid, gid }: Account): void {
  if (name === null) process.setgroups?.([gid]);
  else (process as unknown as WithInitgroups).initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
