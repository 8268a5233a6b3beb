import { bundleDirectoryOf } from '../peers/bundleDirectory.ts';
import type { TenancySettings } from '../config/settings.ts';
import { copySqliteStore, findSqliteDamage } from '../store/sqliteCopy.ts';
import { CommandError, type Output, storeFileOf, withCurrentStore } from './storeAccess.ts';
import { createFileOnce } from './keyFiles.ts';

/**
 * `deployd-tenancy backup FILE`: copies the embedded store, also while the service runs; the copy is of one moment. Says
 * what has to be kept beside it.
 */
export async function backup(settings: TenancySettings, file: string, out: Output): Promise<number> {
  if (settings.database_url_file !== null) throw new CommandError(postgresAdvice(settings.database_url_file, file));
  await withCurrentStore(settings, async () => undefined);
  if (!(await createFileOnce(file, (_part, path) => copyStore(storeFileOf(settings), path)))) {
    throw new CommandError(`${file} exists: name a new file`);
  }
  out.log(`the store is in ${file}. Keep beside it, in this order:`);
  out.log(bundlesAdvice(settings));
  out.log(`- the key file ${settings.key_file}, apart from the backups: with both, grants can be signed`);
  return 0;
}

async function copyStore(from: string, to: string): Promise<void> {
  await copySqliteStore(from, to);
  const damage = findSqliteDamage(to);
  if (damage !== null) throw new CommandError(`the store is damaged: ${damage}`);
}

function bundlesAdvice({ s3, state_dir }: TenancySettings): string {
  const place = s3.url === null ? `the directory ${bundleDirectoryOf(state_dir)}` : `the bucket ${s3.bucket ?? ''}`;
  return `- the bundles: ${place}, copied after the store, so that no bundle is missing that the store knows`;
}

function postgresAdvice(urlFile: string, file: string): string {
  return (
    `the store is the PostgreSQL database that ${urlFile} names; back it up by its own means: ` +
    `pg_dump --format=custom --file=${file} DATABASE`
  );
}
