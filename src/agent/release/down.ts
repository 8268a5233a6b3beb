import type { DesiredState } from '../../../machines/types.ts';
import { readManifestText } from '../../bundle/readBundle.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Containers } from '../engine/containers.ts';
import { nothingApplied, type ProjectResources, type State } from '../state/state.rules.ts';
import { resetOneShots } from './fingerprints.ts';
import type { Releases } from './releases.ts';
import {
  commonResources,
  formatIgnoredPurge,
  formatPendingPurge,
  hasNoResources,
  mayRemoveVolumes,
  noResources,
  pendingPurgeOf,
  pendingSince,
  productionOf,
  purgeDeadline,
  purgeMessages,
  resourcesWithout,
} from './volumes.rules.ts';
import type { RunningTick } from '../journal/journal.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Orchestrator } from './orchestrator.ts';

/** Dependencies of taking the project down. */
export interface DownDependencies {
  readonly settings: Settings;
  readonly releases: Releases;
  readonly state: StateStore;
  readonly orchestrator: Orchestrator;
  readonly tick: RunningTick;
}

/** Dependencies of a purge. */
export interface PurgeDependencies {
  readonly settings: Settings;
  readonly releases: Releases;
  readonly containers: Containers;
  readonly state: StateStore;
  readonly tick: RunningTick;
}

/** Takes the project down, with the volume rule (spec §7); a project that does not exist is not an error. */
export async function composeDown(
  deps: DownDependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { orchestrator, settings, state, tick } = deps;
  const facts = {
    production: await isProduction(deps, state.state, desired.production),
    purgeRequested: desired.purgeVolumes,
    onAbsent: settings.volumes_on_absent,
    denied: settings.policy.deny.includes('purge'),
  };
  const isPurgeWanted = facts.purgeRequested || facts.onAbsent === 'purge';
  const present = isPurgeWanted && facts.production === null ? await orchestrator.volumes() : [];
  const ignored = formatIgnoredPurge(facts, present);
  if (ignored !== null) {
    tick.journal.warn(ignored);
    tick.journal.remarks.push(ignored);
  }
  await orchestrator.down({ volumes: mayRemoveVolumes(facts) }, signal);
}

/** Clears applied_sha, removes `current` and every `.env`; releases/ stays, and every one-shot will run again. */
export async function clearApplied(deps: DownDependencies): Promise<void> {
  const { releases, state, tick } = deps;
  for (const sha of await releases.list()) {
    await releases.stripEnv(sha);
    await resetOneShots(deps, sha);
  }
  await releases.current.remove();
  await state.update({ ...nothingApplied, attempt: null, unreverted: null, failing: null });
  tick.journal.info('down: the project was taken down; releases/ stays, without secrets');
}

/** Clears applied_sha for an incomplete release, so that the response to the next check-in is an apply. */
export async function markNotApplied(
  { state, tick }: Pick<DownDependencies, 'state' | 'tick'>,
  sha: string,
  why: string,
): Promise<void> {
  tick.journal.error(`RELEASE_INCOMPLETE: release ${sha} ${why}; it will be applied again`);
  await state.update(nothingApplied);
}

/**
 * After compose down, which silently skips resources in use: records and logs the resources that should have been removed;
 * volumes only with `volumes` (spec §7.5).
 */
export async function recordPendingPurge(deps: PurgeDependencies, volumes: boolean): Promise<void> {
  const { containers, state, tick } = deps;
  const existing = await containers.ownedResources();
  const remaining = { ...existing, volumes: volumes ? existing.volumes : [] };
  const pending = state.state.purge_pending ?? null;
  const before = pending ?? noResources;
  const purge_pending = pendingPurgeOf(remaining, pending, new Date());
  if (purge_pending !== null || pending !== null) await state.update({ purge_pending });
  logRemoved(deps, resourcesWithout(before, existing));
  const kept = resourcesWithout(commonResources(before, existing), remaining);
  if (!hasNoResources(kept)) tick.journal.warn(purgeMessages.dropped('this down keeps the volumes', kept));
  if (purge_pending === null) return;
  const line = formatPendingPurge(remaining, await containers.resourceUsers());
  tick.journal.warn(line);
  tick.journal.remarks.push(line);
}

/** Retries the pending purge. Works without a desired state, since the token may have been revoked by the down. */
export async function retryPurge(deps: PurgeDependencies, desired: DesiredState | null): Promise<void> {
  const { containers, settings, state, tick } = deps;
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  const { applied_at } = state.state;
  if (pending.volumes.length > 0 && settings.policy.deny.includes('purge'))
    return cancelPurge(deps, 'policy.deny of this host names purge');
  if (applied_at !== null && Date.parse(applied_at) > Date.parse(pending.since))
    return cancelPurge(deps, 'a bundle is applied');
  if (pending.volumes.length > 0 && (await isProduction(deps, state.state, desired?.production === true)) !== false)
    return cancelPurge(deps, 'it may be a production environment');
  const existing = commonResources(pending, await containers.ownedResources());
  const now = new Date();
  const isLate = purgeDeadline(pending) < now;
  await containers.removeOwnedResources(existing);
  const remaining = commonResources(existing, await containers.ownedResources());
  const isOver = isLate || hasNoResources(remaining);
  await state.update({ purge_pending: isOver ? null : { ...remaining, since: pendingSince(pending, now) } });
  logRemoved(deps, resourcesWithout(pending, remaining));
  if (isLate && !hasNoResources(remaining)) tick.journal.warn(purgeMessages.givenUp(remaining));
}

/** Cancels the pending purge; the resources stay. */
export async function cancelPurge(
  { state, tick }: Pick<PurgeDependencies, 'state' | 'tick'>,
  why: string,
): Promise<void> {
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  await state.update({ purge_pending: null });
  tick.journal.warn(purgeMessages.dropped(why, pending));
}

function logRemoved({ tick }: { tick: RunningTick }, removed: ProjectResources): void {
  if (!hasNoResources(removed)) tick.journal.info(purgeMessages.removed(removed));
}

/** Dependencies of the search for orphaned resources. */
interface ProjectAccess {
  containers: Containers;
  releases: Releases;
  settings: Settings;
}

/**
 * Volumes and networks that only failed attempts created, by the baseline in state.json, and that no other container
 * uses. Volumes only in an environment that is known not to be production; `desiredProduction` is the flag of check-in
 * and bundle (spec §12.11).
 */
export async function findOrphanedResources(
  access: ProjectAccess,
  state: Readonly<State>,
  desiredProduction: boolean,
): Promise<ProjectResources> {
  const { containers } = access;
  const baseline = state.baseline ?? null;
  if (baseline === null) return noResources;
  const mayRemoveVolumes =
    baseline.volumes !== null && (await isProduction(access, state, desiredProduction)) === false;
  const owned = await containers.ownedResources();
  const orphans = resourcesWithout(
    { ...owned, volumes: mayRemoveVolumes ? owned.volumes : [] },
    { ...baseline, volumes: baseline.volumes ?? [] },
  );
  if (hasNoResources(orphans)) return orphans;
  const own = new Set((await containers.list()).map(({ id }) => id));
  const others = (await containers.resourceUsers()).filter(({ id }) => !own.has(id));
  return resourcesWithout(orphans, {
    volumes: others.flatMap(({ volumes }) => volumes),
    networks: others.flatMap(({ networks }) => networks),
  });
}

/**
 * True for a production environment, by the desired state, the configuration, the state or any release on disk; null
 * when unknown (spec §7.1).
 */
export async function isProduction(
  { releases, settings }: { releases: Releases; settings: Settings },
  { production, production_unknown }: Readonly<State>,
  desiredProduction: boolean,
): Promise<boolean | null> {
  if (desiredProduction || settings.production || production) return true;
  if (productionOf(await productionOfReleases(releases)) === true) return true;
  return production_unknown === true ? null : false;
}

/**
 * For each release on disk, whether the environment was production when it was applied; null when its record is
 * unreadable.
 */
export async function productionOfReleases(releases: Releases): Promise<(boolean | null)[]> {
  const shas = await releases.list();
  return Promise.all(
    shas.map(
      async (sha) => (await releases.readRecord(sha))?.production ?? (await productionByManifest(releases, sha)),
    ),
  );
}

/**
 * A manifest can prove that an environment is production, but not that it is not: check-in and configuration count too.
 */
async function productionByManifest(releases: Releases, sha: string): Promise<true | null> {
  const text = await readManifestText(releases.pathOf(sha));
  try {
    const manifest: unknown = JSON.parse(text ?? '');
    return (Object(manifest) as { production?: unknown }).production === true ? true : null;
  } catch {
    return null;
  }
}
