import { join } from 'node:path';
import { repack, type RepackedBundle } from '../../../bundle/repack.ts';
import { bundleFactsOf } from '../../../bundle/readBundle.ts';
import type { BundleFacts } from '../../../bundle/rules/plan/plan.ts';
import { parseManifest } from '../../../protocol/manifest.ts';
import { storageError } from '../../adapters/bundles/bundleStorage.ts';
import { bundleSizeOf } from '../../rules/hostWarnings.ts';
import { isPinNeeded, newestPin, pinSecret } from '../../rules/pinnedManifest.ts';
import { addAuditEntry } from '../../store/audit.ts';
import { findBundle, findReplacement } from '../../store/bundles.ts';
import { findBundleTrust } from '../../store/bundleTrusts.ts';
import type { BundleRow, EnvRow } from '../../store/database.ts';
import { findEnv, lockEnv, setDesiredSha } from '../../store/envs.ts';
import type { Store } from '../../store/openStore.ts';
import { conflict, notFound } from '../apiError.ts';
import { auditEntry } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller } from '../operator.ts';
import { announceAwaited } from '../webhooks/announce.ts';
import { insertStoredBundle, storeArchive } from './archiveStorage.ts';
import { fetchArchive } from './fetchArchive.ts';
import { judgeForHosts } from './judgeForHosts.ts';
import { requireNoRollout } from './lockPromotable.ts';
import { withScratchDirectory } from './scratchDirectory.ts';
import { takeSequence } from './takeSequence.ts';

/** What a changed secret means for the bundle that is desired. */
export interface SecretChange {
  caller: AuditCaller;
  env: string;
  /** Path of the secret in manifests. */
  path: string;
  version: number;
}

/** The bundle that deploys a version of a secret. */
export interface DeployedSecret {
  bundle: BundleRow;
  /** What some hosts would not permit of a bundle that was made for it. */
  warnings: string[];
}

/** How often a bundle is packed anew because another one has become the desired one meanwhile. */
const MAX_TRIES = 5;

/** Bundles from which one that pins a secret is packed. */
interface Origin {
  desired: BundleRow;
  /** The newest one that is to replace the desired one and waits for signatures, with what it pins; else the desired one. */
  base: BundleRow;
}

/**
 * Packs the desired bundle of an env anew so that it pins a version of a secret, and makes it the desired one; where the hosts
 * demand signatures, it waits for them instead, to be promoted. Version text and files stay the same, so that hosts recreate
 * only what uses the secret. Returns the bundle that deploys this version or a newer one; null if the desired one does not
 * read the secret. Throws 404 without the env, 409 `DESIRED_CHANGED` if it is changed again and again and `ROLLOUT_ACTIVE`, 503
 * `DISK_FULL`, `BUNDLE_MISSING` and `BUNDLE_DAMAGED`, and PeerErrors.
 */
export async function repackBundle(deps: Dependencies, change: SecretChange): Promise<DeployedSecret | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const origin = await findOrigin(deps.store, await findEnv(deps.store, change.env));
    if (origin === null) return null;
    const outcome = await withScratchDirectory(deps, (dir) => repackFrom(deps, change, { ...origin, dir }));
    if (outcome !== 'outdated') return outcome;
  }
  const message = 'the secret is written, but other bundles became the desired one; set it again, or pack a bundle';
  throw conflict({ code: 'DESIRED_CHANGED', message, env: change.env });
}

async function findOrigin(store: Store, env: EnvRow | null): Promise<Origin | null> {
  if (env === null) throw notFound('env');
  const desired = env.desired_sha === null ? null : await findBundle(store, env.desired_sha);
  return desired && { desired, base: (await findReplacement(store, desired)) ?? desired };
}

/** `outdated` if another bundle became the desired one or its replacement, or one of a higher sequence was pushed. */
async function repackFrom(
  deps: Dependencies,
  change: SecretChange,
  { dir, ...origin }: Origin & { dir: string },
): Promise<DeployedSecret | null | 'outdated'> {
  const { base } = origin;
  const file = join(dir, 'base');
  const into = join(dir, 'repacked');
  const { signal } = new AbortController();
  await fetchArchive(deps, { sha256: base.sha256, file, signal });
  const seen = { reads: false, pinned: 0, sequence: 0, facts: null as BundleFacts | null };
  const packed = await repack({ file, into, scratchDir: dir, signal }, async (text, unpacked) => {
    const parsed = parseManifest(text, change.env);
    if ('refusal' in parsed) throw storageError('read', `${base.sha256}: ${parsed.refusal.detail}`);
    seen.reads = parsed.manifest.secrets.some(({ path }) => path === change.path);
    seen.pinned = newestPin(parsed.manifest, change.path);
    if (!isPinNeeded(parsed.manifest, change)) return null;
    seen.facts = await bundleFactsOf({ ...unpacked, ...parsed, sha: null }, signal);
    seen.sequence = await takeSequence(deps, change.env);
    return pinSecret(text, seen.sequence, change);
  });
  const { reads, pinned, sequence, facts } = seen;
  if (packed === null || facts === null) return reads ? { bundle: base, warnings: pinWarnings(change, pinned) } : null;
  const size = bundleSizeOf(packed.contents, packed.sizeBytes);
  const { warnings } = await judgeForHosts(deps, change.env, { facts, size });
  await storeArchive(deps, { sha256: packed.sha256, file: into });
  const row = rowOf(deps, change, { base, packed, sequence });
  return (await insertRepacked(deps, change, { origin, row })) ? { bundle: row, warnings } : 'outdated';
}

/** A pinned version may be to come, or gone with a secret that was deleted. */
function pinWarnings({ path, version }: SecretChange, pinned: number): string[] {
  return pinned > version ? [`the bundle pins version ${pinned} of ${path}: version ${version} is not deployed`] : [];
}

function rowOf(
  { clock }: Dependencies,
  { caller }: SecretChange,
  { base, packed, sequence }: { base: BundleRow; packed: RepackedBundle; sequence: number },
): BundleRow {
  const { sha256, sizeBytes } = packed;
  return { ...base, sha256, sequence, size_bytes: sizeBytes, received_at: clock(), received_from: caller.actor };
}

/** Makes a stored bundle the desired one, or lets it wait for that; false if its origin is not the same any more. */
async function insertRepacked(
  { store, clock }: Dependencies,
  { caller, env }: SecretChange,
  { origin, row: repacked }: { origin: Origin; row: BundleRow },
): Promise<boolean> {
  return store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row !== null) requireNoRollout(row);
    const now = await findOrigin(work, row);
    if (now?.desired.sha256 !== origin.desired.sha256 || now.base.sha256 !== origin.base.sha256) return false;
    const mustWait = (await findBundleTrust(work, env)) !== null;
    const replaces = mustWait ? origin.desired.sha256 : null;
    if ((await insertStoredBundle(work, { ...repacked, replaces })) !== 'added') return false;
    if (mustWait) await announceAwaited(work, repacked);
    else await setDesiredSha(work, env, repacked.sha256);
    await addAuditEntry(
      work,
      auditEntry({ clock }, { ...caller, act: 'bundle.repack' }, { target: repacked.sha256, env }),
    );
    return true;
  });
}
