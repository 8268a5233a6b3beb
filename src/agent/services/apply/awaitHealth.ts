import type { Bundle } from '../../../../machines/words.ts';
import { awaitWell } from '../health/awaitWell.ts';
import { blameEngine } from '../release/release.ts';
import type { Tools } from '../tools.ts';

/** Waits until the engine calls every container well. */
export async function awaitHealth(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  await awaitWell(tools, bundle.sha, signal).catch((error: unknown) => blameEngine(tools, error));
}
