import { refused } from '../../../../machines/fault.ts';
import type { Bundle, Orders } from '../../../../machines/words.ts';
import type { Tools } from '../tools.ts';
import { judge } from './judge.ts';
import { unpackedContents } from './unpack.ts';

/** Judges everything that must not run, tells it all at once and starts nothing (spec §9). */
export async function check(
  tools: Tools,
  { bundle, orders }: { bundle: Bundle; orders: Orders },
  signal: AbortSignal,
): Promise<void> {
  try {
    const contents = unpackedContents(tools);
    const site = { ...tools, state: { is: tools.state.state }, production: orders.production };
    const { plan, trouble } = await judge({ ...bundle, contents }, site, signal);
    if (plan.refusals.length > 0) throw refused(plan.refusals);
    if (trouble !== null) throw trouble;
    tools.tick.journal.debug(`plan: ${plan.services.map(({ name, change }) => `${name}=${change}`).join(' ')}`);
    await tools.compose.probe(signal);
  } catch (error) {
    await tools.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}
