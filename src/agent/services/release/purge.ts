import type { Orders } from '../../../../machines/words.ts';
import { beyond, isNothing, nothing, within, type Owned } from '../../rules/release/owned.ts';
import { pendingSince, purgeEnds, purgeLeft, purgeOf, purgeTold } from '../../rules/release/purge.ts';
import { isProduction } from './production.ts';
import type { Tools } from '../tools.ts';

/**
 * After compose down, which says nothing of what it leaves as somebody else uses it: notes and tells what of the project
 * remains though it was to go, the volumes only with `volumes` (spec §7.5).
 */
export async function noteRemaining(tools: Tools, volumes: boolean): Promise<void> {
  const { containers, state, tick } = tools;
  const here = await containers.owned();
  const left = { ...here, volumes: volumes ? here.volumes : [] };
  const pending = state.state.purge_pending ?? null;
  const before = pending ?? nothing;
  const purge_pending = purgeOf(left, pending, new Date());
  if (purge_pending !== null || pending !== null) await state.update({ purge_pending });
  tellRemoved(tools, beyond(before, here));
  const kept = beyond(within(before, here), left);
  if (!isNothing(kept)) tick.journal.warn(purgeTold.dropped('this down keeps the volumes', kept));
  if (purge_pending === null) return;
  const line = purgeLeft(left, await containers.holders());
  tick.journal.warn(line);
  tick.remarks.push(line);
}

/** Tries again what is pending; no orders are needed, as the token may be dead by now. */
export async function purgeAgain(tools: Tools, orders: Orders | null): Promise<void> {
  const { containers, state, tick } = tools;
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  const { applied_at } = state.state;
  if (applied_at !== null && Date.parse(applied_at) > Date.parse(pending.since))
    return dropPurge(tools, 'a bundle is applied');
  if (pending.volumes.length > 0 && (await isProduction(tools, state.state, orders?.production === true)) !== false)
    return dropPurge(tools, 'it is not known to be no production env');
  const here = within(pending, await containers.owned());
  const now = new Date();
  const isLate = purgeEnds(pending) < now;
  if (!isLate) await containers.removeOwned(here);
  const left = isLate ? here : within(here, await containers.owned());
  const isOver = isLate || isNothing(left);
  await state.update({ purge_pending: isOver ? null : { ...left, since: pendingSince(pending, now) } });
  tellRemoved(tools, beyond(pending, left));
  if (isLate && !isNothing(left)) tick.journal.warn(purgeTold.givenUp(left));
}

/** What is pending is not to go any more. */
export async function dropPurge({ state, tick }: Tools, why: string): Promise<void> {
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  await state.update({ purge_pending: null });
  tick.journal.warn(purgeTold.dropped(why, pending));
}

function tellRemoved({ tick }: Tools, gone: Owned): void {
  if (!isNothing(gone)) tick.journal.info(purgeTold.removed(gone));
}
