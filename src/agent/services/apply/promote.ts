import type { Bundle } from '../../../../machines/words.ts';
import { ensureWayBack } from '../release/integrity.ts';
import { dropPurge } from '../release/purge.ts';
import type { Tools } from '../tools.ts';

/**
 * Looks at the way back while nothing is touched yet, journals the attempt durably, then points `current` at the release;
 * while the attempt stands it is not trusted. An attempt that was cut short after touching containers keeps saying so.
 */
export async function promote(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const { releases, state } = tools;
  const { applied_sha } = state.state;
  if (applied_sha !== null && applied_sha !== bundle.sha) await ensureWayBack(tools, applied_sha, signal);
  await dropPurge(tools, 'a bundle is applied');
  const phase = state.state.attempt?.phase ?? 'promoted';
  const production = state.state.production || bundle.manifest.production;
  const production_unknown = await isStillUnknown(tools);
  await state.update({
    production,
    production_unknown,
    attempt: { sha: bundle.sha, phase, at: new Date().toISOString() },
  });
  await releases.current.set(bundle.sha);
}

/** Where the project has no volume yet, all that it will ever have is made under what bundles and check-ins say from now on. */
async function isStillUnknown({ containers, state }: Tools): Promise<boolean> {
  return state.state.production_unknown === true && (await containers.owned()).volumes.length > 0;
}
