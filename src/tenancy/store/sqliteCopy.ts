import { backup, DatabaseSync } from 'node:sqlite';
import type { Store } from './openStore.ts';

/** More than the pages of any store. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies an SQLite store, which may be in use, into an empty file; the copy is consistent and complete in that file.
 */
export async function copySqliteStore(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    // All pages at once: a copy in parts would restart with each change by the service.
    await backup(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  packSqliteStore(to);
}

/** Moves the log of an unused store into its file. */
export function packSqliteStore(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

/** The damage that SQLite finds in the file of a store; null if there is none. */
export function findSqliteDamage(file: string): string | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const [first] = database.prepare('pragma quick_check(1)').all();
      const told = String(first?.['quick_check']);
      return told === 'ok' ? null : told;
    } finally {
      database.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}

/** Raises the sequences of every environment, so that sequences assigned after a backup are never reused. */
export async function skipSequences(work: Store, gap: number): Promise<void> {
  await work
    .updateTable('envs')
    .set(({ eb }) => ({ last_sequence: eb('last_sequence', '+', gap) }))
    .where('last_sequence', '<=', Number.MAX_SAFE_INTEGER - gap)
    .execute();
}

/** Raises the generation of every backend; tokens of earlier generations stay accepted until the next kit. */
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

/** Deletes all signing keys, so that none of their signatures is valid any more. */
export async function deleteAllSigningKeys(work: Store): Promise<void> {
  await work.deleteFrom('signing_keys').execute();
}

/**
 * Environments whose secrets were about to be destroyed, with the retiring backend that requires it (null for a deleted
 * environment).
 */
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
