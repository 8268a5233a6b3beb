import type { Credentials } from '../../machines/words.ts';
import type { Releases } from '../adapters/releases.ts';
import type { State } from '../rules/state.ts';
import type { Tools } from './tools.ts';

/** Reads state.json, sweeps what a dead tick left and looks for credentials; the token goes into the vault. */
export async function recall(tools: Tools): Promise<Credentials> {
  const { compose, credentials, releases, settings, state, tick, vault } = tools;
  const { last_check_in } = await state.load();
  await compose.sweep();
  for (const path of await releases.sweep(last_check_in?.desired_sha ?? null))
    tick.journal.warn(`cannot remove ${path}; a container wrote there: remove it as root`);
  for (const line of await credentials.warnings()) tick.journal.warn(line);
  const token = await credentials.readToken();
  if (token !== null) vault.holdToken(token);
  return { token: token !== null, grant: await credentials.hasGrant(), grantFile: settings.bootstrap_file };
}

/** What `current` itself tells about the release in force, for a state file that was lost (spec §17). */
export async function rebuilt(releases: Releases): Promise<Partial<State>> {
  const sha = await releases.currentSha();
  const record = sha === null ? null : await releases.readRecord(sha);
  const all = await Promise.all((await releases.list()).map((each) => releases.readRecord(each)));
  return {
    applied_sha: record ? sha : null,
    applied_version: record?.version ?? null,
    highest_sequence: Math.max(0, ...all.map((each) => each?.sequence ?? 0)),
    production: record?.production ?? false,
  };
}
