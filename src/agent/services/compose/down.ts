import { Fault } from '../../../../machines/fault.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordPendingPurge } from '../release/pendingPurge.ts';
import { rethrowAsEngineFault } from './startRelease.ts';

/**
 * Runs compose down. Containers that do not stop in time are removed by force, so that none can prevent a host from being
 * retired.
 */
export async function down(deps: Dependencies, { volumes }: { volumes: boolean }, signal: AbortSignal): Promise<void> {
  const runDown = () => deps.compose.down(volumes, signal);
  await runDown()
    .catch(async (error: unknown) => {
      if (!(error instanceof Fault && error.isTimeout)) throw error;
      await forceRemoveContainers(deps, volumes);
      await runDown();
    })
    .catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await recordPendingPurge(deps, volumes);
}

async function forceRemoveContainers({ containers, settings, tick }: Dependencies, volumes: boolean): Promise<void> {
  const remaining = await containers.listAll();
  for (const { id } of remaining) await containers.removeContainer(id, { volumes });
  const names = remaining.map(({ name }) => name).join(', ');
  tick.journal.warn(`down: not stopped within ${settings.down_timeout_s}s, so removed by force: ${names}`);
}
