import type { Orders } from '../../machines/words.ts';
import { ignoredPurge, mayRemoveVolumes } from '../rules/volumes.ts';
import { blameEngine } from './release.ts';
import type { Tools } from './tools.ts';

/** compose down with the volume rule (spec §7); nothing there is fine. */
export async function composeDown(tools: Tools, { orders }: { orders: Orders }, signal: AbortSignal): Promise<void> {
  const { compose, settings, tick } = tools;
  const facts = {
    production: orders.production,
    purgeRequested: orders.purgeVolumes,
    onAbsent: settings.volumes_on_absent,
  };
  const ignored = ignoredPurge(facts);
  if (ignored !== null) tick.journal.warn(ignored);
  await compose.down(mayRemoveVolumes(facts), signal).catch((error: unknown) => blameEngine(tools, error));
}

/** Clears applied_sha, removes `current` and every `.env`; releases/ stays. */
export async function clearApplied({ releases, state, tick }: Tools): Promise<void> {
  for (const sha of await releases.list()) await releases.stripEnv(sha);
  await releases.removeCurrent();
  await state.update({ applied_sha: null, applied_at: null, applied_version: null, attempt: null, failing: null });
  tick.journal.info('down: the project is torn down; releases/ stays, without secrets');
}
