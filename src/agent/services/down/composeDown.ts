import { Fault } from '../../../../machines/fault.ts';
import type { DesiredState } from '../../../../machines/types.ts';
import { formatIgnoredPurge, mayRemoveVolumes } from '../../rules/release/volumeRule.ts';
import { rethrowAsEngineFault } from '../release/startRelease.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Runs compose down with the volume rule (spec §7); a project that does not exist is no error. Containers that do not stop in
 * time are removed by force, so that none can prevent a host from being retired.
 */
export async function composeDown(
  deps: Dependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { compose, containers, settings, state, tick } = deps;
  const { isProduction } = await import('../release/production.ts');
  const facts = {
    production: await isProduction(deps, state.state, desired.production),
    purgeRequested: desired.purgeVolumes,
    onAbsent: settings.volumes_on_absent,
    denied: settings.policy.deny.includes('purge'),
  };
  const isPurgeWanted = facts.purgeRequested || facts.onAbsent === 'purge';
  const present = isPurgeWanted && facts.production === null ? (await containers.ownedResources()).volumes : [];
  const ignored = formatIgnoredPurge(facts, present);
  if (ignored !== null) {
    tick.journal.warn(ignored);
    tick.remarks.push(ignored);
  }
  const volumes = mayRemoveVolumes(facts);
  const down = () => compose.down(volumes, signal);
  await down()
    .catch(async (error: unknown) => {
      if (!(error instanceof Fault && error.isTimeout)) throw error;
      await forceRemoveContainers(deps, volumes);
      await down();
    })
    .catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await (await import('../release/pendingPurge.ts')).recordPendingPurge(deps, volumes);
}

async function forceRemoveContainers({ containers, settings, tick }: Dependencies, volumes: boolean): Promise<void> {
  const remaining = await containers.listAll();
  for (const { id } of remaining) await containers.removeContainer(id, { volumes });
  const names = remaining.map(({ name }) => name).join(', ');
  tick.journal.warn(`down: not stopped within ${settings.down_timeout_s}s, so removed by force: ${names}`);
}
