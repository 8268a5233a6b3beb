import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { groupName, lookAt } from '../../adapters/host/accounts.ts';
import { textIfThere } from '../../adapters/files/ifThere.ts';
import { askHost } from '../../adapters/host/programs.ts';
import type { Agent, Check, FileFacts } from '../../rules/doctor/doctor.ts';
import { judgeConfig, judgeCredentialFiles, judgeStateDir } from '../../rules/doctor/files.ts';
import { judgeIdentity, otherTransport } from '../../rules/doctor/mesh.ts';
import type { Known } from '../../rules/plan/plan.ts';
import type { Site } from './site.ts';

/** The configuration, the state directory, and the credentials in and beside it. */
export async function examineFiles(site: Site): Promise<Check[]> {
  const { configPath, flaws, hidden, host, settings } = site;
  const { agent } = host;
  const look = (path: string) => lookAt(path, agent);
  const dir = await look(settings.state_dir);
  const strays = hidden === null ? await straysIn(settings.state_dir, agent) : [];
  return [
    judgeConfig({ file: await look(configPath), flaws }, agent),
    judgeStateDir({ dir: hidden === null ? dir : { ...dir, found: 'hidden' }, strays }, agent),
    judgeCredentialFiles(
      await look(join(settings.state_dir, 'store.token')),
      await look(settings.bootstrap_file),
      agent,
    ),
  ];
}

/** The mesh identity, where the agent itself reads it. */
export async function examineIdentity({ host, settings }: Site): Promise<Check> {
  const { transport = 'unknown', mesh } = settings;
  if (transport !== 'sdk') return otherTransport('mesh identity', transport);
  const file = await lookAt(mesh.identity_file, host.agent);
  const group = await groupOf(file);
  return judgeIdentity(
    { file, group, isIdentity: await holdsIdentity(file.path), watched: await isWatched() },
    host.agent,
  );
}

/** Name of the group that a file belongs to. */
export async function groupOf({ found }: FileFacts): Promise<string> {
  return found === null || found === 'hidden' ? '' : groupName(found.gid);
}

/** Entries of the state directory, and of the env's below it, that belong to somebody else. */
async function straysIn(dir: string, { uid }: Agent): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const owned = await Promise.all(
    names.map(async (name) => ({ path: join(dir, name), uid: (await lstat(join(dir, name)).catch(() => null))?.uid })),
  );
  return owned.filter((entry) => entry.uid !== undefined && entry.uid !== uid).map(({ path }) => path);
}

async function holdsIdentity(path: string): Promise<boolean | null> {
  const text = await textIfThere(path).catch(() => null);
  if (text === null) return null;
  try {
    const { id } = Object(JSON.parse(text)) as { id?: { cert?: unknown; key?: unknown } };
    return typeof id?.cert === 'string' && typeof id.key === 'string';
  } catch {
    return false;
  }
}

async function isWatched(): Promise<Known<boolean>> {
  const { stdout } = await askHost([
    'systemctl',
    'show',
    'deployd-identity-acl.path',
    '--property=LoadState,ActiveState',
  ]);
  if (!stdout.includes('LoadState=loaded')) return { unknown: 'the unit is not installed here' };
  return { is: stdout.includes('ActiveState=active') };
}
