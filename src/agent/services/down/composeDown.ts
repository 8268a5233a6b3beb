import type { DesiredState } from '../../../../machines/types.ts';
import { formatIgnoredPurge, mayRemoveVolumes } from '../../rules/release/volumeRule.ts';
import type { Dependencies } from '../dependencies.ts';

/** Takes the project down, with the volume rule (spec §7); a project that does not exist is no error. */
export async function composeDown(
  deps: Dependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { orchestrator, settings, state, tick } = deps;
  const { isProduction } = await import('../release/production.ts');
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
    tick.remarks.push(ignored);
  }
  await orchestrator.down({ volumes: mayRemoveVolumes(facts) }, signal);
}
