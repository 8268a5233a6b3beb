import { findBundle } from '../../store/bundles.ts';
import type { EnvRow } from '../../store/database.ts';
import { lockEnv } from '../../store/envs.ts';
import type { Store } from '../../store/openStore.ts';
import { conflict, notFound } from '../apiError.ts';
import { viewBundle } from '../bundleList.ts';

/**
 * Locks an env that a bundle is to become the desired one of, or none; bundles of a locked env are not removed. Throws 404,
 * and 409: `ROLLOUT_ACTIVE`, `BUNDLE_ENV` for a bundle of another env, `SIGNATURE_AWAITED` for one that the hosts of the env
 * would refuse.
 */
export async function lockPromotable(
  work: Store,
  { env, sha256 }: { env: string; sha256: string | null },
): Promise<EnvRow> {
  const row = await lockEnv(work, env);
  if (row === null) throw notFound('env');
  requireNoRollout(row);
  if (sha256 === null) return row;
  const bundle = await findBundle(work, sha256);
  if (bundle === null) throw notFound('bundle');
  if (bundle.env !== env) throw conflict({ code: 'BUNDLE_ENV', message: 'the bundle is of another env', env });
  const { signature, signers } = await viewBundle(work, bundle);
  if (signature === 'awaiting signature') throw signatureAwaited(env, signers);
  return row;
}

/** Throws 409 `ROLLOUT_ACTIVE` while an env has a rollout that is neither done nor aborted. */
export function requireNoRollout({ name, rollout_id }: Pick<EnvRow, 'name' | 'rollout_id'>): void {
  if (rollout_id === null) return;
  const message = 'a rollout of this env is under way: wait until it is done, or abort it';
  throw conflict({ code: 'ROLLOUT_ACTIVE', message, env: name });
}

function signatureAwaited(env: string, signers: string[]) {
  const signed =
    signers.length === 0 ? 'nobody whom they believe has signed the bundle' : `only ${signers.join(', ')} signed`;
  const message = `the hosts of ${env} demand more signatures: ${signed}`;
  return conflict({ code: 'SIGNATURE_AWAITED', message, env });
}
