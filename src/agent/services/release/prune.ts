import type { Outcome } from '../../../../machines/words.ts';
import { tidy } from './tidy.ts';
import type { Tools } from '../tools.ts';

/** `--prune` (spec §2): only the release in force stays; after an apply dangling images go too. */
export async function prune(tools: Tools, { outcome }: { outcome: Outcome }): Promise<void> {
  await tidy(tools, tools.state.state.applied_sha === null ? 0 : 1);
  if (outcome.ending === 'applied') await tools.containers.pruneImages();
}
