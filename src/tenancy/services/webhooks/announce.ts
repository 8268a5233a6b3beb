import { eventOf, type Occurrence } from '../../rules/webhooks/event.ts';
import { findBundleTrust } from '../../store/bundleTrusts.ts';
import type { BundleRow } from '../../store/database.ts';
import type { Store } from '../../store/openStore.ts';
import { queueEvent } from '../../store/webhookDeliveries.ts';
import { findSubscribed } from '../../store/webhooks.ts';

/** Queues the event of an occurrence for every webhook that is told of it, in the transaction of what has happened. */
export async function announce(work: Store, occurrence: Occurrence): Promise<void> {
  const { type, env, now } = occurrence;
  const webhooks = await findSubscribed(work, type, env);
  if (webhooks.length > 0) await queueEvent(work, eventOf(occurrence), { webhooks, now });
}

/** Announces that a new bundle awaits signatures, which it has none of, where the hosts of its env demand any. */
export async function announceAwaited(work: Store, bundle: BundleRow): Promise<void> {
  const { env, received_at: now } = bundle;
  if ((await findBundleTrust(work, env)) === null) return;
  await announce(work, { type: 'bundle.awaiting_signature', now, env, bundle });
}
