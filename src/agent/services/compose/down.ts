import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../../../machines/fault.ts';
import { catchFault } from '../catchFault.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordPendingPurge } from '../release/pendingPurge.ts';
import { rethrowAsEngineFault } from './startRelease.ts';

/**
 * Runs compose down. Where it fails, the containers are removed one by one, and it is run again, so that none can prevent
 * a host from being retired (spec §7.2): compose takes nothing down where a service depends on one without a container,
 * like a one-shot that a revert has left out.
 */
export async function down(deps: Dependencies, { volumes }: { volumes: boolean }, signal: AbortSignal): Promise<void> {
  const runDown = () => deps.compose.down(volumes, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await runDown().catch(async (error: unknown) => {
    if (!(error instanceof Fault && error.code === 'DOWN_FAILED')) throw error;
    await removeContainers(deps, error, volumes);
    await runDown();
  });
  await recordPendingPurge(deps, volumes);
}

/**
 * Those that compose did not stop in time are killed, all others have that time to stop first. One that the engine cannot remove
 * keeps none of the others; its fault is thrown at the end.
 */
async function removeContainers(deps: Dependencies, { isTimeout, tail }: Fault, volumes: boolean): Promise<void> {
  const { containers, settings, tick } = deps;
  const remaining = await containers.listAll();
  if (!isTimeout) await stopContainers(deps, remaining);
  const removals = await Promise.all(
    remaining.map(({ id }) => catchFault(() => containers.removeContainer(id, { volumes }))),
  );
  const why = isTimeout
    ? `not stopped within ${settings.down_timeout_s}s, so removed by force`
    : `docker compose down failed (${tail?.trim().split('\n').at(-1) || 'without output'}), so removed one by one`;
  const refusal = removals.find((each) => each instanceof Fault);
  const removed = remaining.filter((_, index) => !(removals[index] instanceof Fault));
  if (removed.length > 0) tick.journal.warn(`down: ${why}: ${removed.map(({ name }) => name).join(', ')}`);
  if (refusal) throw refusal;
}

/** Stops them at once, within `down_timeout_s`; what does not stop is left to be killed. */
async function stopContainers({ containers, settings }: Dependencies, all: readonly { id: string }[]): Promise<void> {
  const over = new AbortController();
  const stopped = Promise.allSettled(all.map(({ id }) => containers.stopContainer(id)));
  const late = pause(settings.down_timeout_s * 1000, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([stopped, late]);
  over.abort();
}
