import { failedFault } from '../../../machines/fault.ts';
import type { ComposeRelease } from '../engine/compose.ts';
import { createSecretHasher, readNetworkDefinitions } from '../release/fingerprints.ts';
import type { NetworkDefinitions } from '../release/grantedPrivileges.rules.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import type { ComposeDependencies } from './observe.ts';
import { containersOn, planNetworks, takenNetworks, unusedNetworks } from './networks.rules.ts';

/**
 * Removes the networks that differ from their definition in the release or conflict with one, and the containers on
 * them, so that compose creates both again. Only runs in an apply and in its revert. Throws `UP_FAILED` before anything
 * is changed when a container outside the project's services uses such a network.
 */
export async function settleNetworks(
  deps: ComposeDependencies,
  release: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<void> {
  const { containers, project, tick } = deps;
  if (deps.state.state.attempt === null) return;
  const networks = await containers.networks();
  if (!networks.some((each) => each.project === project || each.name.startsWith(`${project}_`))) return;
  const wanted = await readNetworkDefinitions(deps, release, signal);
  if (wanted === null) return;
  const created = await containers.inspectProject();
  const own = new Set(created.containers.map(({ Id }) => Id));
  const foreign = (await containers.resourceUsers()).filter(({ id }) => !own.has(id));
  const [asked, hide] = [await askedByOthers(deps, release.sha), await createSecretHasher(deps)];
  const { removed, conflicts } = planNetworks({ wanted, asked, networks, foreign, project, hide });
  const [taken] = takenNetworks(networks, { wanted, project, hide, created: created.containers });
  if (taken !== undefined) throw takenFault(taken);
  const [conflict] = conflicts;
  if (conflict !== undefined) throw conflictFault(conflicts);
  if (removed.length === 0) return;
  const names = removed.map(({ network }) => network.name);
  await Promise.all(
    containersOn(names, created.containers).map((container) => removeKeepingVolumes(deps, container, created)),
  );
  for (const { network, why } of removed) {
    await containers.removeNetwork(network.id);
    tick.journal.info(`network ${network.name} is removed: ${why}`);
  }
  const existing = new Set((await containers.networks()).map(({ id }) => id));
  const [kept] = removed.filter(({ network }) => existing.has(network.id));
  if (kept !== undefined)
    throw failedFault('UP_FAILED', `network ${kept.network.name} cannot be recreated: the engine still uses it`);
}

/** Removes the networks of the project that the applied release does not define and no container uses. */
export async function removeUnusedNetworks(deps: ComposeDependencies): Promise<void> {
  const { containers, project, releases, state, tick } = deps;
  const { applied_sha } = state.state;
  const granted = applied_sha === null ? null : await releases.readGrantedPrivileges(applied_sha);
  if (granted === null) return;
  const networks = await containers.networks();
  const hide = await createSecretHasher(deps);
  const isDefined = (name: string) =>
    Object.hasOwn(granted.networks, name) || Object.hasOwn(granted.networks, hide(name));
  if (networks.every(({ name, project: owner }) => owner !== project || isDefined(name))) return;
  const unused = unusedNetworks(networks, { names: isDefined, users: await containers.resourceUsers(), project });
  for (const { network, users } of unused) {
    if (users.length > 0) tick.journal.info(`network ${network.name} stays: ${describeUsers(users)}`);
    else {
      await containers.removeNetwork(network.id);
      tick.journal.info(`network ${network.name} is removed: no service uses it`);
    }
  }
}

/** The definitions of the applied release and of the attempt, if these are different releases. */
async function askedByOthers({ releases, state }: ComposeDependencies, sha: string): Promise<NetworkDefinitions> {
  const { applied_sha, attempt } = state.state;
  const others = [applied_sha, attempt?.sha ?? null].filter((other) => other !== null && other !== sha);
  const granted = await Promise.all(others.map((other) => releases.readGrantedPrivileges(other ?? '')));
  return Object.assign({}, ...granted.map((each) => each?.definitions ?? {})) as NetworkDefinitions;
}

function conflictFault(conflicts: readonly { name: string; why: string; users: string[] }[]) {
  const lines = conflicts.map(
    ({ name, why, users }) => `network ${name} cannot be recreated although ${why}: ${describeUsers(users)}`,
  );
  return failedFault('UP_FAILED', `${lines.join('; ')}: remove or disconnect these containers`);
}

/** Whether compose uses such a network unchanged depends on its version. */
function takenFault(name: string) {
  return failedFault(
    'UP_FAILED',
    `network ${name} exists and was not made by this project: remove it, or give the network of the bundle another name`,
  );
}

function describeUsers(users: readonly string[]): string {
  return `${users.join(', ')} ${users.length === 1 ? 'uses' : 'use'} it`;
}
