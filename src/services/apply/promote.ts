import type { Bundle } from '../../../machines/words.ts';
import type { Tools } from '../tools.ts';

/**
 * Journals the attempt durably, then points `current` at the release; while the attempt stands it is not trusted.
 * An attempt that was cut short after touching containers keeps saying so.
 */
export async function promote({ releases, state }: Tools, { bundle }: { bundle: Bundle }): Promise<void> {
  const phase = state.state.attempt?.phase ?? 'promoted';
  const production = state.state.production || bundle.manifest.production;
  await state.update({ production, attempt: { sha: bundle.sha, phase, at: new Date().toISOString() } });
  await releases.setCurrent(bundle.sha);
}
