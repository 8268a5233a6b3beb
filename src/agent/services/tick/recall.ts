import type { Credentials, Sha } from '../../../../machines/words.ts';
import type { Releases } from '../../adapters/files/releases.ts';
import type { State } from '../../rules/state/state.ts';
import { productionOf } from '../../rules/release/volumes.ts';
import type { Tools } from '../tools.ts';

/** Reads state.json, sweeps what a dead tick left and looks for credentials; the token goes into the vault. */
export async function recall(tools: Tools): Promise<Credentials> {
  const { compose, credentials, releases, settings, state, stop, tick, vault } = tools;
  const { last_check_in, applied_sha } = await state.load();
  if (applied_sha !== null && !(await isServable(releases, applied_sha)))
    await forgetApplied(tools, applied_sha, 'is not whole on the disk');
  await keepCurrent(tools);
  if (await compose.sweep()) tick.journal.warn('a compose of a killed tick was still at work; it was ended');
  for (const path of await releases.sweep(last_check_in?.desired_sha ?? null, stop.signal))
    tick.journal.warn(`cannot remove ${path}; a container wrote there: remove it as root`);
  for (const line of await credentials.warnings()) tick.journal.warn(line);
  const token = await credentials.readToken().catch((error: unknown) => {
    vault.noteUnheld();
    throw error;
  });
  if (token !== null) vault.holdToken(token);
  const grant = await credentials.hasGrant();
  if (!grant) await forgetRefusal(tools);
  return { token: token !== null, grant, grantFile: settings.bootstrap_file };
}

/** A grant that is gone is no trouble any more. */
async function forgetRefusal({ state }: Tools): Promise<void> {
  const { grant_refused, ...token } = state.state.token;
  if (grant_refused !== undefined) await state.update({ token });
}

/** A crash while the release was rendered anew may have left its files half of one kind: then those come back that last served. */
async function isServable(releases: Releases, sha: Sha): Promise<boolean> {
  if (await releases.isWhole(sha)) return true;
  await releases.restoreLastGood(sha);
  return releases.isWhole(sha);
}

/** `current` names what is applied, unless an attempt stands; what somebody else put in its place is set aside. */
async function keepCurrent({ releases, state, tick }: Tools): Promise<void> {
  const { applied_sha, attempt } = state.state;
  const { sha, isForeign } = await releases.current.look();
  if (isForeign)
    tick.journal.warn(
      `CURRENT_FOREIGN: current was not a link to one of the agent's releases; kept as ${await releases.current.setAside()}`,
    );
  if (applied_sha === null || attempt !== null || sha === applied_sha) return;
  await releases.current.set(applied_sha);
  tick.journal.warn('current was lost; it points to the applied release again');
}

/** A release that is gone is not applied, whatever was noted: the next check-in says so, and it is ordered anew. */
export async function forgetApplied({ state, tick }: Tools, sha: string, why: string): Promise<void> {
  tick.journal.error(`RELEASE_INCOMPLETE: release ${sha} ${why}; it will be applied anew`);
  await state.update({ applied_sha: null, applied_at: null, applied_version: null });
}

/** What `current` itself tells about the release in force, for a state file that was lost (spec §17): to be verified. */
export async function rebuilt(releases: Releases): Promise<Partial<State>> {
  const { sha } = await releases.current.look();
  const record = sha === null ? null : await releases.readRecord(sha);
  const { toldByReleases } = await import('../release/production.ts');
  const production = productionOf(await toldByReleases(releases));
  const all = await Promise.all((await releases.list()).map((each) => releases.readRecord(each)));
  return {
    applied_sha: record ? sha : null,
    attempt: record ? { sha: record.sha, phase: 'unknown', at: new Date().toISOString() } : null,
    applied_version: record?.version ?? null,
    highest_sequence: Math.max(0, ...all.map((each) => each?.sequence ?? 0)),
    production: production === true,
    production_unknown: production === null,
  };
}
