import { access, constants, link, open, rename, rm, writeFile } from 'node:fs/promises';
import type { TenancySettings } from '../config/settings.ts';
import { settleRestore, SEQUENCE_GAP, type RestoredStore } from '../services/settleRestore.ts';
import { migrateStore } from '../store/openStore.ts';
import { copySqliteStore, findSqliteDamage, packSqliteStore } from '../store/sqliteCopy.ts';
import { CommandError, type Output } from './commandError.ts';
import { ensureKeyFile } from './keyFiles.ts';
import { syncDirectory } from './newFile.ts';
import { lockStore, noStore, requireKnownTables, storeFileOf, storePlaceOf, withStore } from './storeAccess.ts';

/**
 * `deployd-tenancy restore [FILE]`: puts a backup in the place of the embedded store, while no instance serves, and makes
 * it safe. Without FILE the store was restored by other means, such as pg_restore or a snapshot, and is only made safe.
 */
export async function restore(settings: TenancySettings, file: string | undefined, out: Output): Promise<number> {
  const keyFile = await ensureKeyFile(settings.key_file);
  const release = lockStore(settings);
  try {
    const restored =
      file === undefined ? await settle(storePlaceOf(settings), keyFile) : await replaceStore(settings, file, keyFile);
    report(restored, out);
    return 0;
  } finally {
    release();
  }
}

function settle(place: Parameters<typeof withStore>[0], keyFile: Buffer): Promise<RestoredStore> {
  return withStore(place, async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    if (isEmpty) throw noStore();
    await migrateStore(store);
    return settleRestore(store, keyFile, Date.now());
  });
}

/** The copy is made safe before it takes the place of the store, which stays beside it. */
async function replaceStore(settings: TenancySettings, file: string, keyFile: Buffer): Promise<RestoredStore> {
  if (settings.database_url_file !== null)
    throw new CommandError('the store is in PostgreSQL: restore it by pg_restore, then call this without a file');
  await access(file, constants.R_OK);
  const damage = findSqliteDamage(file);
  if (damage !== null) throw new CommandError(`${file} is no sound backup: ${damage}`);
  const target = storeFileOf(settings);
  const copy = `${target}.restoring`;
  await removeStore(copy);
  try {
    await writeFile(copy, '', { mode: 0o600 });
    await copySqliteStore(file, copy);
    const restored = await settle({ file: copy }, keyFile);
    packSqliteStore(copy);
    await syncFile(copy);
    await keepReplaced(target);
    await rename(copy, target);
    await syncDirectory(settings.state_dir);
    return restored;
  } finally {
    await removeStore(copy);
  }
}

/** Keeps the store that is replaced, with the log that belongs to it. */
async function keepReplaced(target: string): Promise<void> {
  const kept = `${target}.before-restore-${new Date().toISOString().replaceAll(':', '')}`;
  await link(target, kept).catch(ignoreMissing);
  await rename(`${target}-wal`, `${kept}-wal`).catch(ignoreMissing);
  await rm(`${target}-shm`, { force: true });
}

async function removeStore(file: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true });
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function report({ token, revokedOperators, sparedEnvs, haltedEnvs, desired }: RestoredStore, out: Output): void {
  out.error(`sequences go on ${SEQUENCE_GAP} higher; grants from before are void: reveal unused kits again`);
  out.error(`${revokedOperators} operators' tokens are revoked: make new ones`);
  for (const { env, sha256 } of desired) {
    out.error(`env ${env}: desired is ${sha256}; push and promote again what came after it`);
  }
  for (const env of haltedEnvs) {
    out.error(`env ${env}: its rollout is halted, as hosts may be further than the backup knows; resume or abort it`);
  }
  for (const env of sparedEnvs) {
    out.error(`env ${env}: its secrets were to be destroyed, and are left; destroy them if nothing uses them`);
  }
  out.error('backends that were created after the backup are unknown: create them again');
  out.error('token of the administrator `admin`, shown only now:');
  out.log(token);
}
