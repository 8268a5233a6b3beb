import type { Bundle, Orders } from '../../../../machines/words.ts';
import type { Baseline } from '../../rules/state/state.ts';
import { clearForBundle } from '../release/leftovers.ts';
import { isProduction } from '../release/production.ts';
import { bringUp } from '../release/release.ts';
import type { Tools } from '../tools.ts';

/**
 * compose up from local images; from here on containers are touched, and the attempt says so. In the same write stands what
 * the project had before, unless a failed attempt has noted that already.
 */
export async function up(
  tools: Tools,
  { bundle, orders }: { bundle: Bundle; orders: Orders },
  signal: AbortSignal,
): Promise<void> {
  const { containers, state } = tools;
  const { sha, manifest } = bundle;
  const before = state.state.baseline ?? null;
  const noted: Baseline = before ?? { sha, ...(await containers.owned()) };
  const production = await isProduction(tools, state.state, orders.production || manifest.production);
  const baseline = { ...noted, volumes: production === false ? noted.volumes : null };
  await state.update({ attempt: { sha, phase: 'starting', at: new Date().toISOString() }, baseline });
  if (before !== null) await clearForBundle(tools, sha);
  await bringUp(tools, { sha, pull: 'never' }, signal);
}
