import { readText } from '../files/atOnce.ts';
import { access, constants, stat } from 'node:fs/promises';
import type { Agent, FileFacts } from '../../rules/doctor/doctor.ts';
import { isEACCES, isENOENT } from '../files/files.ts';
import { accountOf } from './owner.ts';
import { askHost } from './programs.ts';

/** The user that owns the state directory; null where there is none, or it cannot be seen. */
export async function agentOf(stateDir: string): Promise<Agent | null> {
  const found = await stat(stateDir).catch(() => null);
  if (found === null) return null;
  const account = accountOf(found.uid);
  const name = account?.name ?? null;
  if (name === null) return { name: `uid ${found.uid}`, uid: found.uid, gids: [found.gid] };
  return { name, uid: found.uid, gids: [account?.gid ?? found.gid, ...(await extraGroups(name))] };
}

/** Name of a group, its number where the system knows none. */
export async function groupName(gid: number): Promise<string> {
  return (await groups()).find((group) => group.gid === gid)?.name ?? String(gid);
}

/** A file and what the agent may do with it: asked of the kernel, so that ACLs count. Nothing is changed. */
export async function lookAt(path: string, agent: Agent): Promise<FileFacts> {
  const self = process.getuid?.();
  const isStranger = self !== 0 && self !== agent.uid;
  const found = await stat(path).catch((error: unknown) => {
    if (isEACCES(error)) return 'hidden' as const;
    if (isENOENT(error)) return null;
    return 'hidden' as const;
  });
  if (found === null || found === 'hidden') return { path, found, readable: null, writable: null };
  if (isStranger && !(await mayMyself(path, constants.R_OK)))
    return { path, found: 'hidden', readable: null, writable: null };
  const facts = { mode: found.mode & 0o7777, uid: found.uid, gid: found.gid, mtime: found.mtime };
  return { path, found: facts, readable: await may(agent, path, 'r'), writable: await may(agent, path, 'w') };
}

/** Whether the agent's user may read or write a file; null when this user cannot find that out. */
async function may({ uid, gids }: Agent, path: string, what: 'r' | 'w'): Promise<boolean | null> {
  const self = process.getuid?.();
  if (self === uid) return mayMyself(path, what === 'r' ? constants.R_OK : constants.W_OK);
  if (self !== 0) return null;
  const [gid = uid, ...others] = gids;
  const groupsOf = others.length > 0 ? [`--groups=${gids.join()}`] : ['--clear-groups'];
  const { rc } = await askHost(['setpriv', `--reuid=${uid}`, `--regid=${gid}`, ...groupsOf, 'test', `-${what}`, path]);
  return rc === 0 ? true : rc === 1 ? false : null;
}

async function mayMyself(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

async function extraGroups(name: string): Promise<number[]> {
  return (await groups()).filter(({ members }) => members.includes(name)).map(({ gid }) => gid);
}

async function groups(): Promise<{ name: string; gid: number; members: string[] }[]> {
  const text = await readText('/etc/group').catch(() => '');
  return text.split('\n').map((line) => {
    const [name = '', , gid, members = ''] = line.split(':');
    return { name, gid: Number(gid), members: members.split(',') };
  });
}
