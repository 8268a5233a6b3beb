import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, throwIfStopped } from '../../../../machines/fault.ts';
import { monotonicMs } from '../../../core/clock.ts';
import { purgeOtherNodes } from './nodeWork.ts';
import type { SwarmDependencies } from './stackFacts.ts';

const pollMs = 500;

/**
 * Removes the stack, waits until its tasks and the containers of this node are gone, then removes what they mounted. With
 * `volumes` each node removes its own.
 */
export async function down(
  context: SwarmDependencies,
  { volumes }: { volumes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { deps, contents, stacks, state, swarm } = context;
  await state.confirm();
  await stacks.remove(signal);
  await waitUntilGone(context, signal);
  await contents.removeOthers(new Set());
  if (!volumes) return;
  await deps.containers.removeOwnedResources({ volumes: await swarm.volumes(), networks: [] });
  await purgeOtherNodes(context, signal);
}

async function waitUntilGone({ deps, swarm }: SwarmDependencies, signal: AbortSignal): Promise<void> {
  const { down_timeout_s } = deps.settings;
  const deadlineMs = monotonicMs() + down_timeout_s * 1000;
  while ((await swarm.tasks()).length > 0 || (await swarm.containers()) > 0) {
    if (monotonicMs() >= deadlineMs)
      throw failedFault('DOWN_FAILED', `the tasks of the stack are not gone within ${down_timeout_s}s`);
    await pause(pollMs, undefined, { signal }).catch(() => throwIfStopped(signal));
  }
}
