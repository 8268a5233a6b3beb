import { readHold } from '../adapters/state/holdFile.ts';
import type { Settings } from '../config/settings.ts';
import type { DeferringFacts } from '../../api/checkIn.rules.ts';
import { deferringFactsOf } from '../rules/schedule/deferral.ts';
import { standingHold } from '../rules/schedule/hold.ts';

/** What would defer an apply now. Throws for a hold that cannot be read. */
export async function readDeferringFacts({
  state_dir,
  apply,
}: Pick<Settings, 'state_dir' | 'apply'>): Promise<DeferringFacts> {
  const now = new Date();
  const hold = standingHold(await readHold(state_dir), now);
  return deferringFactsOf({ hold, windows: apply.windows }, now);
}
