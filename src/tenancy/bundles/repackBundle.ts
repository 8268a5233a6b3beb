import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { changeManifest, parseManifest } from '../../api/manifest.rules.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import { type Compression, MANIFEST_NAME, type PackedBundle } from '../../bundle/archive/pack.ts';
import { readManifestText } from '../../bundle/readBundle.ts';
import { openRegularFile } from '../../core/files.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { storageError } from '../peers/bundleStorage.ts';
import { findBundle, findReplacement, groupOf } from '../store/bundles.ts';
import type { BundleRow, EnvRow } from '../store/database.ts';
import { findBundleTrust, findEnv, lockEnv, reserveSequence, setDesiredSha } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import { type EnvJudgement, judgeForHosts } from './acceptBundle.ts';
import {
  type ArchiveDependencies,
  fetchArchive,
  insertStoredBundle,
  storeArchive,
  withScratchDirectory,
} from './archives.ts';
import { arePinsNeeded, newestPins, pinSecrets, type SecretPins } from './bundle.rules.ts';
import { bundleSizeOf } from './hostPolicies.rules.ts';
import { requireNoRollout } from './promotion.ts';
import { maxSequence } from '../../api/checkIn.rules.ts';

/** Changed secrets of an environment, for which the desired bundle must be packed again. */
interface SecretChange {
  caller: AuditCaller;
  env: string;
  pins: SecretPins;
}

/** The bundle that deploys versions of secrets. */
interface DeployedSecrets {
  bundle: BundleRow;
  /** Reasons why some hosts would refuse the new bundle, or why a version is not deployed. */
  warnings: string[];
}

/** A bundle with the versions that it pins of the secrets that it reads. */
interface PinnedBundle extends DeployedSecrets {
  pinned: SecretPins;
}

/** The changes of an environment that wait for the repack that is running. */
interface Batch {
  pins: Map<string, number>;
  result: Promise<PinnedBundle | null>;
}

/** The newest repack of each environment by this instance, and the changes that wait for it. */
const queues = new WeakMap<Store, Map<string, { last: Promise<unknown>; next: Batch | null }>>();

/**
 * Deploys versions of secrets with `repackBundle`. Calls for one environment wait for each other, and all that wait
 * share the next bundle. Returns null if the bundle reads none of these secrets.
 */
export async function deploySecrets(deps: ArchiveDependencies, change: SecretChange): Promise<DeployedSecrets | null> {
  const { env, pins } = change;
  const ofStore = queues.get(deps.store) ?? new Map<string, { last: Promise<unknown>; next: Batch | null }>();
  queues.set(deps.store, ofStore);
  const queue = ofStore.get(env) ?? { last: Promise.resolve(), next: null };
  ofStore.set(env, queue);
  if (queue.next === null) {
    const waiting = new Map<string, number>();
    const result = queue.last.then(() => {
      queue.next = null;
      return repackBundle(deps, { ...change, pins: waiting });
    });
    queue.next = { pins: waiting, result };
    queue.last = result.catch(() => undefined);
  }
  const { next } = queue;
  for (const [path, version] of pins) next.pins.set(path, Math.max(version, next.pins.get(path) ?? 0));
  const made = await next.result;
  if (made === null || ![...pins.keys()].some((path) => made.pinned.has(path))) return null;
  return { bundle: made.bundle, warnings: [...made.warnings, ...pinWarnings(pins, made.pinned)] };
}

/** Largest number of attempts to pack a bundle while other calls change the desired bundle. */
const MAX_TRIES = 15;

/** The bundles from which a bundle with a pinned secret is packed. */
interface Origin {
  desired: BundleRow;
  /**
   * The newest replacement of the desired bundle that waits for signatures, with its pinned versions; otherwise the
   * desired bundle.
   */
  base: BundleRow;
}

/**
 * Packs the desired bundle of an environment again with pinned versions of secrets, and makes the result the desired
 * bundle. If the hosts require signatures, the result waits to be signed and promoted instead.
 * The version text and all other files stay the same, so that hosts recreate only the services that use the secrets.
 * Newer pinned versions stay. Returns the bundle; null if the desired bundle reads none of the secrets.
 * Throws 404 for an unknown environment, 409 `ROLLOUT_ACTIVE`, and 409 `DESIRED_CHANGED` if the desired bundle keeps
 * changing. Throws 503 `DISK_FULL`, `BUNDLE_MISSING`, `BUNDLE_DAMAGED` and `ARCHIVE_UNCHECKED`, and PeerErrors.
 */
async function repackBundle(deps: ArchiveDependencies, change: SecretChange): Promise<PinnedBundle | null> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const origin = await findOrigin(deps.store, await findEnv(deps.store, change.env));
    if (origin === null) return null;
    const outcome = await withScratchDirectory(deps, (dir) => repackFrom(deps, change, { ...origin, dir }));
    if (outcome !== 'outdated') return outcome;
  }
  const message = 'the secret is written, but other bundles became the desired one; the service tries again by itself';
  throw conflict({ code: 'DESIRED_CHANGED', message, env: change.env });
}

async function findOrigin(store: Store, env: EnvRow | null): Promise<Origin | null> {
  if (env === null) throw notFound('env');
  const desired = env.desired_sha === null ? null : await findBundle(store, env.desired_sha);
  return desired && { desired, base: (await findReplacement(store, desired)) ?? desired };
}

/**
 * Returns `outdated` if the desired bundle or its replacement changed, or a bundle with a higher sequence was pushed.
 */
async function repackFrom(
  deps: ArchiveDependencies,
  change: SecretChange,
  { dir, ...origin }: Origin & { dir: string },
): Promise<PinnedBundle | null | 'outdated'> {
  const { base } = origin;
  const file = join(dir, 'base');
  const into = join(dir, 'repacked');
  const { signal } = new AbortController();
  await fetchArchive(deps, { sha256: base.sha256, file, signal });
  const seen = { pinned: new Map<string, number>(), sequence: 0, judged: null as EnvJudgement | null };
  const packed = await repack(deps, { file, into, scratchDir: dir, signal }, async (text, unpacked) => {
    const parsed = parseManifest(text, change.env);
    if ('refusal' in parsed) throw storageError('read', `${base.sha256}: ${parsed.refusal.detail}`);
    seen.pinned = newestPins(parsed.manifest);
    if (!arePinsNeeded(parsed.manifest, change.pins)) return null;
    seen.judged = await judgeForHosts(deps, { ...unpacked, ...parsed, sha: null }, signal);
    seen.sequence = await takeSequence(deps, change.env);
    return pinSecrets(text, seen.sequence, change.pins);
  });
  const { pinned, sequence, judged } = seen;
  if (packed === null || judged === null) return { bundle: base, warnings: [], pinned };
  const warnings = judged.warningsFor(bundleSizeOf(packed.contents, packed.sizeBytes));
  await storeArchive(deps, { sha256: packed.sha256, file: into });
  const row = rowOf(deps, change, { base, packed, sequence });
  if (!(await insertRepacked(deps, change, { origin, row }))) return 'outdated';
  for (const [path, version] of pinned) pinned.set(path, Math.max(version, change.pins.get(path) ?? 0));
  return { bundle: row, warnings, pinned };
}

/** Warns about pinned versions that do not exist yet, or were deleted with their secret, or were written meanwhile. */
function pinWarnings(pins: SecretPins, pinned: SecretPins): string[] {
  return [...pins].flatMap(([path, version]) => {
    const newest = pinned.get(path) ?? 0;
    return newest > version ? [`the bundle pins version ${newest} of ${path}: version ${version} is not deployed`] : [];
  });
}

function rowOf(
  { clock }: ArchiveDependencies,
  { caller }: SecretChange,
  { base, packed, sequence }: { base: BundleRow; packed: RepackedBundle; sequence: number },
): BundleRow {
  const { sha256, sizeBytes } = packed;
  const received = { received_at: clock(), received_from: caller.actor };
  return { ...base, sha256, sequence, size_bytes: sizeBytes, ...received, same_as: null };
}

/**
 * Makes a stored bundle the desired one, or the replacement that waits for signatures; returns false if its origin has
 * changed.
 */
async function insertRepacked(
  { store, clock }: ArchiveDependencies,
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
    else await setDesiredSha(work, env, repacked.sha256, { since: clock(), isCopy: true });
    await addAuditEntry(
      work,
      auditEntry({ clock }, { ...caller, act: 'bundle.repack' }, { target: repacked.sha256, env }),
    );
    return true;
  });
}

/** The newest version of each secret that a bundle pins, by path. */
export function readPins(deps: ArchiveDependencies, { sha256, env }: BundleRow): Promise<Map<string, number>> {
  return withScratchDirectory(deps, async (dir) => {
    const { signal } = new AbortController();
    const [file, into] = [join(dir, 'base'), join(dir, 'repacked')];
    await fetchArchive(deps, { sha256, file, signal });
    let pins = new Map<string, number>();
    await repack(deps, { file, into, scratchDir: dir, signal }, async (text) => {
      const parsed = parseManifest(text, env);
      if ('refusal' in parsed) throw storageError('read', `${sha256}: ${parsed.refusal.detail}`);
      pins = newestPins(parsed.manifest);
      return null;
    });
    return pins;
  });
}

/**
 * Packs a bundle again with the next sequence of its environment and at least some versions of secrets, and stores the
 * archive, without other changes. Returns the row, which is not inserted yet. Throws 503 `DISK_FULL`, `BUNDLE_MISSING`, `BUNDLE_DAMAGED` and `ARCHIVE_UNCHECKED`, and PeerErrors.
 */
export function resequenceBundle(
  deps: ArchiveDependencies,
  bundle: BundleRow,
  { receivedFrom, pins = new Map() }: { receivedFrom: string; pins?: SecretPins },
): Promise<BundleRow> {
  return withScratchDirectory(deps, async (dir) => {
    const { signal } = new AbortController();
    const [file, into] = [join(dir, 'base'), join(dir, 'repacked')];
    await fetchArchive(deps, { sha256: bundle.sha256, file, signal });
    const sequence = await takeSequence(deps, bundle.env);
    const seen = { isSame: true };
    const packed = await repack(deps, { file, into, scratchDir: dir, signal }, async (text) => {
      const parsed = parseManifest(text, bundle.env);
      seen.isSame = 'refusal' in parsed || !arePinsNeeded(parsed.manifest, pins);
      return seen.isSame ? changeManifest(text, () => ({ sequence })) : pinSecrets(text, sequence, pins);
    });
    if (packed === null) throw new TypeError('a bundle was packed without a manifest');
    const { sha256, sizeBytes } = packed;
    await storeArchive(deps, { sha256, file: into });
    const received = { received_at: deps.clock(), received_from: receivedFrom, replaces: null };
    return {
      ...bundle,
      sha256,
      sequence,
      size_bytes: sizeBytes,
      ...received,
      same_as: seen.isSame ? groupOf(bundle) : null,
    };
  });
}

/** The bundle met the limits when it was pushed; they may have been lowered since. */
const noLimits = { bundle_bytes: Infinity, unpacked_bytes: Infinity, bundle_entries: Infinity };

/** A bundle to pack again with another manifest. */
interface RepackRequest {
  /** An archive that was already validated. */
  file: string;
  /** Path of the new archive. */
  into: string;
  /** Directory for unpacking the archive. */
  scratchDir: string;
  signal: AbortSignal;
}

/** A bundle that was packed again, and its content. */
interface RepackedBundle extends PackedBundle {
  contents: BundleContents;
}

/**
 * Packs a bundle again. `change` gets the manifest's text and the unpacked files, and returns the text of the new
 * manifest, or null. Every other file stays the same byte for byte. Returns null if there is no new manifest. Throws
 * like `unpack` and `packDirectory`.
 */
export async function repack(
  { runArchiveTask }: Pick<ArchiveDependencies, 'runArchiveTask'>,
  { file, into, scratchDir, signal }: RepackRequest,
  change: (manifest: string, unpacked: { dir: string; contents: BundleContents }) => Promise<string | null>,
): Promise<RepackedBundle | null> {
  const dir = await mkdtemp(join(scratchDir, 'repack-'));
  try {
    const before = await runArchiveTask('unpack', { file, into: dir, limits: noLimits }, signal);
    const manifest = await change((await readManifestText(dir)) ?? '', { dir, contents: before });
    if (manifest === null) return null;
    const compression = await compressionOf(file);
    const packed = await runArchiveTask('pack', { dir, manifest, file: into, contents: before, compression }, signal);
    return { ...packed, contents: withManifest(before, Buffer.byteLength(manifest)) };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function withManifest(contents: BundleContents, size: number): BundleContents {
  const files = contents.files.map((file) => (file.path === MANIFEST_NAME ? { ...file, size } : file));
  return { ...contents, files };
}

/** The compression of a valid archive. */
async function compressionOf(file: string): Promise<Compression> {
  await using archive = await openRegularFile(file, { follow: false });
  const { buffer } = await archive.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('hex') === '1f8b' ? 'gzip' : 'zstd';
}

/** Reserves the next sequence of an environment; throws 404, or 409 `SEQUENCE_EXHAUSTED` after the largest one. */
export async function takeSequence({ store }: { store: Store }, env: string): Promise<number> {
  const sequence = await reserveSequence(store, env);
  if (sequence !== null) return sequence;
  if ((await findEnv(store, env)) === null) throw notFound('env');
  const message = `environment ${env} already had the largest sequence, ${maxSequence}; an administrator can set a lower one`;
  throw conflict({ code: 'SEQUENCE_EXHAUSTED', message, env });
}
