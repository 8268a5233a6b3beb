import { Fault } from '../../../../machines/fault.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordPendingPurge } from '../release/pendingPurge.ts';
import { rethrowAsEngineFault } from './startRelease.ts';

/**
 * Runs compose down. Where it fails, the containers are removed one by one, and it is run again, so that none can prevent
 * a host from being retired: those that do not stop in time are removed by force; the others are stopped before, as compose
 * takes nothing down where a service depends on one without a container, like a one-shot that a revert has left out.
 */
export async function down(deps: Dependencies, { volumes }: { volumes: boolean }, signal: AbortSignal): Promise<void> {
  const runDown = () => deps.compose.down(volumes, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await runDown().catch(async (error: unknown) => {
    if (!(error instanceof Fault && error.code === 'DOWN_FAILED')) throw error;
    await removeContainers(deps, { volumes, isTimeout: error.isTimeout });
    await runDown();
  });
  await recordPendingPurge(deps, volumes);
}

async function removeContainers(
  { containers, settings, tick }: Dependencies,
  { volumes, isTimeout }: { volumes: boolean; isTimeout: boolean },
): Promise<void> {
  const remaining = await containers.listAll();
  for (const { id } of remaining) {
    if (!isTimeout) await containers.stopContainer(id);
    await containers.removeContainer(id, { volumes });
  }
  const names = remaining.map(({ name }) => name).join(', ');
  const why = isTimeout ? `not stopped within ${settings.down_timeout_s}s, so removed by force` : 'removed one by one';
  if (remaining.length > 0) tick.journal.warn(`down: ${why}: ${names}`);
}
