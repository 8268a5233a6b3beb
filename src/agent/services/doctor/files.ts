import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFactsOf, groupName, runHostProgram } from '../../../core/accounts.ts';
import { readTextIfExists } from '../../adapters/files/ifExists.ts';
import {
  type Check,
  checkConfig,
  checkStateDir,
  type Fact,
  type FileFacts,
  type ProgramUser,
} from '../../../core/doctor.rules.ts';
import { checkCredentialFiles } from '../../rules/doctor/credentialFilesCheck.ts';
import { checkIdentity, inapplicableForTransport } from '../../rules/doctor/meshChecks.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Checks the configuration, the state directory and the credential files. */
export async function checkFiles(context: DoctorContext): Promise<Check[]> {
  const { configPath, problems, inaccessible, host, settings } = context;
  const { agent } = host;
  const factsOf = (path: string) => fileFactsOf(path, agent);
  const dir = await factsOf(settings.state_dir);
  const foreign = inaccessible === null ? await foreignFilesIn(settings.state_dir, agent) : [];
  return [
    checkConfig({ file: await factsOf(configPath), problems }, agent),
    checkStateDir({ dir: inaccessible === null ? dir : { ...dir, found: 'hidden' }, foreignEntries: foreign }, agent),
    checkCredentialFiles(
      await factsOf(join(settings.state_dir, 'store.token')),
      await factsOf(settings.bootstrap_file),
      agent,
    ),
  ];
}

/** Checks the mesh identity, which the agent reads with the transport `sdk`. */
export async function examineIdentity({ host, settings }: DoctorContext): Promise<Check> {
  const { transport = 'unknown', mesh } = settings;
  if (transport !== 'sdk') return inapplicableForTransport('mesh identity', transport);
  const file = await fileFactsOf(mesh.identity_file, host.agent);
  const group = groupOf(file);
  return checkIdentity(
    { file, group, isIdentity: await holdsIdentity(file.path), watched: await isWatched() },
    host.agent,
  );
}

/** Name of a file's group; empty when the file is missing or hidden. */
export function groupOf({ found }: FileFacts): string {
  return found === null || found === 'hidden' ? '' : groupName(found.gid);
}

/** Entries of a directory that another user owns. */
async function foreignFilesIn(dir: string, { uid }: ProgramUser): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const owners = await Promise.all(
    names.map(async (name) => ({ path: join(dir, name), uid: (await lstat(join(dir, name)).catch(() => null))?.uid })),
  );
  return owners.filter((entry) => entry.uid !== undefined && entry.uid !== uid).map(({ path }) => path);
}

async function holdsIdentity(path: string): Promise<boolean | null> {
  const text = await readTextIfExists(path).catch(() => null);
  if (text === null) return null;
  try {
    const { id } = Object(JSON.parse(text)) as { id?: { cert?: unknown; key?: unknown } };
    return typeof id?.cert === 'string' && typeof id.key === 'string';
  } catch {
    return false;
  }
}

async function isWatched(): Promise<Fact<boolean>> {
  const { stdout } = await runHostProgram([
    'systemctl',
    'show',
    'deployd-identity-acl.path',
    '--property=LoadState,ActiveState',
  ]);
  if (!stdout.includes('LoadState=loaded')) return { unknown: 'the unit is not installed here' };
  return { known: stdout.includes('ActiveState=active') };
}
