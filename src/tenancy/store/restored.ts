import type { Store } from './openStore.ts';

/** Raises the sequences of every env, so that none is given twice that was given after a backup. */
export async function skipSequences(work: Store, gap: number): Promise<void> {
  await work
    .updateTable('envs')
    .set(({ eb }) => ({ last_sequence: eb('last_sequence', '+', gap) }))
    .where('last_sequence', '<=', Number.MAX_SAFE_INTEGER - gap)
    .execute();
}

/** Raises the generation of every backend; tokens of those before stay accepted until the next kit. */
export async function skipGenerations(work: Store, gap: number): Promise<void> {
  await work
    .updateTable('backends')
    .set(({ eb }) => ({ generation: eb('generation', '+', gap), revision: eb('revision', '+', 1) }))
    .execute();
}

/** Revokes the tokens of all operators; returns how many. */
export async function revokeAllOperators(work: Store, now: number): Promise<number> {
  const update = work.updateTable('operators').set({ revoked_at: now }).where('revoked_at', 'is', null);
  return Number((await update.executeTakeFirstOrThrow()).numUpdatedRows);
}

/** Deletes all signing keys, so that nothing that they have signed is valid any more. */
export async function deleteAllSigningKeys(work: Store): Promise<void> {
  await work.deleteFrom('signing_keys').execute();
}

/** Envs whose secrets were to be destroyed, by the backend whose retirement demands it (null for a deleted env). */
export async function listSecretDestructions(work: Store): Promise<{ backendId: string | null; env: string }[]> {
  const rows = await work
    .selectFrom('pending_steps')
    .leftJoin('backends', 'backends.id', 'pending_steps.subject')
    .select(['subject', 'backends.id as backendId', 'backends.env'])
    .where('step', 'in', ['destroySecrets', 'destroyEnvSecrets'])
    .orderBy('subject')
    .execute();
  return rows.map(({ subject, backendId, env }) => ({ backendId, env: env ?? subject }));
}
