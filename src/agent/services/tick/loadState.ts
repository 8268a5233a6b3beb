import type { AvailableCredentials, Sha } from '../../../../machines/types.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import { readHold } from '../../adapters/state/holdFile.ts';
import { standingHold } from '../../rules/schedule/hold.ts';
import type { Dependencies } from '../dependencies.ts';
import { markNotApplied } from '../release/markNotApplied.ts';

/** Reads state.json, removes leftovers of a killed tick and finds the credentials; the token goes into the vault. */
export async function loadState(deps: Dependencies): Promise<AvailableCredentials> {
  const { compose, credentials, orchestrator, releases, settings, state, stop, tick, vault } = deps;
  const { last_check_in, applied_sha } = await state.load();
  tick.hold = standingHold(await readHold(settings.state_dir), new Date());
  const isHere = applied_sha === null || (await ensureComplete(releases, applied_sha));
  if (!isHere && !orchestrator.isShared) await markNotApplied(deps, applied_sha, 'is not whole on the disk');
  if (isHere || !orchestrator.isShared) await repairCurrent(deps);
  if (await compose.terminateOrphans()) tick.journal.warn('a compose of a killed tick was still at work; it was ended');
  for (const path of await releases.removeLeftovers(last_check_in?.desired_sha ?? null, stop.signal))
    tick.journal.warn(`cannot remove ${path}; a container wrote there: remove it as root`);
  for (const line of await credentials.warnings()) tick.journal.warn(line);
  const token = await credentials.readToken().catch((error: unknown) => {
    vault.noteUntrackedSecrets();
    throw error;
  });
  if (token !== null) vault.setToken(token);
  const hasGrant = await credentials.hasGrant();
  if (!hasGrant) await clearGrantRefusal(deps);
  return { hasToken: token !== null, hasGrant, grantFile: settings.bootstrap_file };
}

/** Once the grant file is gone, its refusal is no longer reported. */
async function clearGrantRefusal({ state }: Dependencies): Promise<void> {
  const { grant_refused, ...token } = state.state.token;
  if (grant_refused !== undefined) await state.update({ token });
}

/** Restores the backup of a release when a crash interrupted its rendering. False when files are still missing. */
async function ensureComplete(releases: Releases, sha: Sha): Promise<boolean> {
  if (await releases.isComplete(sha)) return true;
  await releases.restoreBackup(sha);
  return releases.isComplete(sha);
}

/** Points `current` to the applied release, unless an attempt is recorded; a foreign file or link in its place is set aside. */
async function repairCurrent({ releases, state, tick }: Dependencies): Promise<void> {
  const { applied_sha, attempt } = state.state;
  const { sha, isForeign } = await releases.current.inspect();
  if (isForeign)
    tick.journal.warn(
      `CURRENT_FOREIGN: current was not a link to one of the agent's releases; kept as ${await releases.current.setAside()}`,
    );
  if (applied_sha === null || attempt !== null || sha === applied_sha) return;
  await releases.current.set(applied_sha);
  tick.journal.warn('current was lost; it points to the applied release again');
}
