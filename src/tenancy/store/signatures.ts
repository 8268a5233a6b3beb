import type { SignatureRow } from './database.ts';
import type { Store } from './openStore.ts';

/** Adds a signature to its bundle. */
export async function insertSignature(work: Store, row: SignatureRow): Promise<void> {
  await work.insertInto('signatures').values(row).execute();
}

/** The signatures of a bundle, oldest first. */
export function listSignatures(store: Store, bundleSha256: string): Promise<SignatureRow[]> {
  const query = store.selectFrom('signatures').selectAll().where('bundle_sha256', '=', bundleSha256);
  return query.orderBy('received_at').orderBy('sha256').execute();
}

/** The different signers of each of some bundles, sorted; bundles that nobody who is trusted has signed are left out. */
export async function findSigners(store: Store, bundles: readonly string[]): Promise<Map<string, string[]>> {
  if (bundles.length === 0) return new Map();
  const rows = await store
    .selectFrom('signatures')
    .select(['bundle_sha256', 'signer'])
    .distinct()
    .where('bundle_sha256', 'in', bundles)
    .where('signer', 'is not', null)
    .$narrowType<{ signer: string }>()
    .execute();
  const groups = Map.groupBy(rows, ({ bundle_sha256 }) => bundle_sha256);
  return new Map([...groups].map(([sha256, own]) => [sha256, own.map(({ signer }) => signer).toSorted()]));
}

/** Keeps who has made a signature; null for nobody who is trusted. */
export async function setSigner(
  work: Store,
  { bundle_sha256, sha256 }: Pick<SignatureRow, 'bundle_sha256' | 'sha256'>,
  signer: string | null,
): Promise<void> {
  const update = work.updateTable('signatures').set({ signer });
  await update.where('bundle_sha256', '=', bundle_sha256).where('sha256', '=', sha256).execute();
}
