import type { Outcome } from '../../../../machines/types.ts';
import { collectGarbage } from './collectGarbage.ts';
import type { Dependencies } from '../dependencies.ts';

/** `--prune` (spec §2): removes all releases except the applied one and, after an apply, dangling images; on a held host nothing. */
export async function prune(deps: Dependencies, { outcome }: { outcome: Outcome }): Promise<void> {
  if (deps.tick.hold !== null) return;
  await collectGarbage(deps, { keep: deps.state.state.applied_sha === null ? 0 : 1, written: 'removed' });
  if (outcome.ending === 'applied') await deps.orchestrator.prune();
}
