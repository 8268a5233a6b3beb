import { readText } from '../files/syncFs.ts';
import { access, constants, stat } from 'node:fs/promises';
import type { AgentUser, FileFacts } from '../../rules/doctor/diagnosis.ts';
import { isEACCES, isENOENT } from '../../../platform/errors/diskFault.ts';
import { accountOf } from './privileges.ts';
import { runHostProgram } from './hostProgram.ts';

/** The user that owns the state directory; null when the directory is absent or cannot be read. */
export async function agentAccountOf(stateDir: string): Promise<AgentUser | null> {
  const found = await stat(stateDir).catch(() => null);
  if (found === null) return null;
  const account = accountOf(found.uid);
  const name = account?.name ?? null;
  if (name === null) return { name: `uid ${found.uid}`, uid: found.uid, gids: [found.gid] };
  return { name, uid: found.uid, gids: [account?.gid ?? found.gid, ...(await supplementaryGroups(name))] };
}

/** Name of a group; its number when the system knows no name. */
export async function groupName(gid: number): Promise<string> {
  return (await readGroups()).find((group) => group.gid === gid)?.name ?? String(gid);
}

/** Facts about a file and the agent's access to it. Access is tested by the kernel, so ACLs count. Changes nothing. */
export async function fileFactsOf(path: string, agent: AgentUser): Promise<FileFacts> {
  const self = process.getuid?.();
  const isOtherUser = self !== 0 && self !== agent.uid;
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
    readable: await hasAccess(agent, path, 'r'),
    writable: await hasAccess(agent, path, 'w'),
  };
}

/** Whether the agent's user may read or write a file; null when the current user cannot test that. */
async function hasAccess({ uid, gids }: AgentUser, path: string, mode: 'r' | 'w'): Promise<boolean | null> {
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

async function supplementaryGroups(name: string): Promise<number[]> {
  return (await readGroups()).filter(({ members }) => members.includes(name)).map(({ gid }) => gid);
}

async function readGroups(): Promise<{ name: string; gid: number; members: string[] }[]> {
  const text = await readText('/etc/group').catch(() => '');
  return text.split('\n').map((line) => {
    const [name = '', , gid, members = ''] = line.split(':');
    return { name, gid: Number(gid), members: members.split(',') };
  });
}
