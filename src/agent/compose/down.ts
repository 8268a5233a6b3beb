import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../../machines/fault.ts';
import { catchFault } from '../journal/journal.ts';
import { recordPendingPurge } from '../release/down.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';

/**
 * Runs `compose down`. If it fails, the containers are removed one by one and it runs again, so that no container can
 * prevent the retirement of a host (spec §7.2). Compose fails, for example, if a service depends on a one-shot without
 * a container, which a revert left out.
 */
export async function down(
  deps: ComposeDependencies,
  { volumes }: { volumes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const runDown = () => deps.compose.down(volumes, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await runDown().catch(async (error: unknown) => {
    if (!(error instanceof Fault && error.code === 'DOWN_FAILED')) throw error;
    await removeContainers(deps, error, volumes);
    await runDown();
  });
  await recordPendingPurge(deps, volumes);
}

/**
 * After a timeout of compose the containers are killed; otherwise they can stop in that time. A container that the
 * engine cannot remove does not block the others; its fault is thrown at the end.
 */
async function removeContainers(
  deps: ComposeDependencies,
  { isTimeout, tail }: Fault,
  volumes: boolean,
): Promise<void> {
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

/** Stops all of them at once, within `down_timeout_s`; the rest is killed later. */
async function stopContainers(
  { containers, settings }: ComposeDependencies,
  all: readonly { id: string }[],
): Promise<void> {
  const over = new AbortController();
  const stopped = Promise.allSettled(all.map(({ id }) => containers.stopContainer(id)));
  const late = pause(settings.down_timeout_s * 1000, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([stopped, late]);
  over.abort();
}
