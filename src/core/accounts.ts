import { access, constants, stat } from 'node:fs/promises';
import type { FileFacts, ProgramUser } from './doctor.rules.ts';
import { diskFault, isEACCES, isENOENT } from './errors.rules.ts';
import { readRegularFile } from './files.ts';

/** A user of this system. */
export interface Account {
  /** Null when /etc/passwd has no such user. */
  name: string | null;
  uid: number;
  gid: number;
}

/**
 * The account in /etc/passwd, null for an unknown uid; later lines of the same uid are aliases. Throws a DiskFault when
 * the file cannot be read.
 */
export function accountOf(uid: number): Account | null {
  const users = readPasswd().map((line) => line.split(':'));
  const fields = users.find(([, , id]) => id === String(uid));
  return fields === undefined ? null : { name: fields[0] ?? null, uid, gid: Number(fields[3]) };
}

/** A user of this system who has a home directory. */
export interface HomeAccount extends Account {
  name: string;
  home: string;
}

/** The user with a name, also of a directory service such as LDAP; null if the system does not know the name. */
export async function userOf(name: string): Promise<HomeAccount | null> {
  const { rc, stdout } = await runHostProgram(['getent', 'passwd', '--', name]);
  const [found, , uid, gid, , home] = stdout.trimEnd().split(':');
  if (rc !== 0 || found === undefined || home === undefined) return null;
  return { name: found, uid: Number(uid), gid: Number(gid), home };
}

function readPasswd(): string[] {
  const path = '/etc/passwd';
  try {
    return readRegularFile(path).toString('utf8').split('\n');
  } catch (error) {
    throw diskFault('read', path, error);
  }
}

/** The user that owns the state directory; null when the directory is absent or cannot be read. */
export async function ownerOf(stateDir: string): Promise<ProgramUser | null> {
  const found = await stat(stateDir).catch(() => null);
  if (found === null) return null;
  const account = accountOf(found.uid);
  const name = account?.name ?? null;
  if (name === null) return { name: `uid ${found.uid}`, uid: found.uid, gids: [found.gid] };
  return { name, uid: found.uid, gids: [account?.gid ?? found.gid, ...supplementaryGroups(name)] };
}

/** Name of a group; its number when the system knows no name. */
export function groupName(gid: number): string {
  return readGroups().find((group) => group.gid === gid)?.name ?? String(gid);
}

/** Facts about a file and the access of a program's user to it. Access is tested by the kernel, so ACLs count. Changes nothing. */
export async function fileFactsOf(path: string, user: ProgramUser): Promise<FileFacts> {
  const self = process.getuid?.();
  const isOtherUser = self !== 0 && self !== user.uid;
  const found = await stat(path).catch((error: unknown) => {
    if (isEACCES(error)) return 'hidden' as const;
    if (isENOENT(error)) return null;
    return 'hidden' as const;
  });
  if (found === null || found === 'hidden') return { path, found, readable: null, writable: null };
  if (isOtherUser && !(await hasAccessItself(path, constants.R_OK)))
    return { path, found: 'hidden', readable: null, writable: null };
  const facts = { mode: found.mode & 0o7777, uid: found.uid, gid: found.gid, mtime: found.mtime };
  return {
    path,
    found: facts,
    readable: await hasAccess(user, path, 'r'),
    writable: await hasAccess(user, path, 'w'),
  };
}

/** Whether a program's user may read or write a file; null when the current user cannot test that. */
async function hasAccess({ uid, gids }: ProgramUser, path: string, mode: 'r' | 'w'): Promise<boolean | null> {
  const self = process.getuid?.();
  if (self === uid) return hasAccessItself(path, mode === 'r' ? constants.R_OK : constants.W_OK);
  if (self !== 0) return null;
  const [gid = uid, ...others] = gids;
  const groupOptions = others.length > 0 ? [`--groups=${gids.join()}`] : ['--clear-groups'];
  const { rc } = await runHostProgram([
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    ...groupOptions,
    'test',
    `-${mode}`,
    path,
  ]);
  return rc === 0 ? true : rc === 1 ? false : null;
}

async function hasAccessItself(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

function supplementaryGroups(name: string): number[] {
  return readGroups()
    .filter(({ members }) => members.includes(name))
    .map(({ gid }) => gid);
}

function readGroups(): { name: string; gid: number; members: string[] }[] {
  return readGroupLines().map((line) => {
    const [name = '', , gid, members = ''] = line.split(':');
    return { name, gid: Number(gid), members: members.split(',') };
  });
}

/** None when the file cannot be read. */
function readGroupLines(): string[] {
  try {
    return readRegularFile('/etc/group').toString('utf8').split('\n');
  } catch {
    return [];
  }
}

/** The PATH of every program that is run. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TIMEOUT_MS = 10_000;

/**
 * Runs a small program of the host in a fixed environment and what is added to it; `rc` is 127 when it is missing, 137 when it takes
 * too long.
 */
export async function runHostProgram(
  [program, ...args]: readonly [string, ...string[]],
  added: Readonly<Record<string, string>> = {},
): Promise<{ rc: number; stdout: string }> {
  const { execFile } = await import('node:child_process');
  const env = { PATH: SYSTEM_PATH, LANG: 'C.UTF-8', ...added };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: '/', env, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout) =>
      resolve({ rc: error === null ? 0 : exitCodeOf(error), stdout }),
    );
  });
}

function exitCodeOf({ code, killed }: { code?: unknown; killed?: boolean | undefined }): number {
  if (killed === true) return 128 + 9;
  return typeof code === 'number' ? code : 127;
}
