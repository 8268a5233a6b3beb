import type { Bundle } from '../../../machines/words.ts';
import { bringUp } from '../release.ts';
import type { Tools } from '../tools.ts';

/** compose up from local images; from here on containers are touched, and the attempt says so. */
export async function up(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  await tools.state.update({ attempt: { sha: bundle.sha, phase: 'starting', at: new Date().toISOString() } });
  await bringUp(tools, { sha: bundle.sha, pull: 'never' }, signal);
}
