import { join } from 'node:path';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { acceptBundle, type AcceptedBundle } from '../bundles/acceptBundle.ts';
import {
  type ArchiveDependencies,
  fetchArchive,
  withScratchDirectory,
  listUnknownArchives,
  raiseShownSequences,
  type UnknownArchive,
} from '../bundles/archives.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry, byService } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import type { LogLine } from '../core/log.ts';
import { type AuditCaller, type Operator, visibleEnvs } from '../core/permission.rules.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import type { Secretstore } from '../peers/secretstore.ts';
import { readDesired } from './fleet.ts';
import {
  changeBackend,
  findBackend,
  listUnretired,
  raiseGeneration,
  setLock,
  skipGenerations,
} from '../store/backends.ts';
import { findSequences } from '../store/bundles.ts';
import type { AuditRow, BackendRow, EnvRow } from '../store/database.ts';
import { holdEnvs, listHeldEnvs, lockEnv, releaseEnv, skipSequences, spareSecrets } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry, listAuditAfter, newestAuditId } from '../store/people.ts';
import { changeRollout, listActiveRollouts } from '../store/rollouts.ts';
import { announce } from '../webhooks/deliver.ts';
import type { EnvDetails } from '../envs/envSchemas.ts';
import { readEnv } from '../envs/envs.ts';
import type { HeldEnv, HeldHost, RestoreReview } from './backendSchemas.ts';
import {
  countChanges,
  hostChangeOf,
  hostChanges,
  markOf,
  markPlace,
  newestMark,
  type Note,
  noteKey,
  noteOf,
  notePlace,
} from './restore.rules.ts';

/**
 * More than the sequences that an environment gets between a backup and its restore, even if sequences are times in
 * milliseconds; easy to recognize.
 */
export const SEQUENCE_GAP = 10_000_000_000;
/** More than the kits that a backend gets between a backup and its restore. */
export const GENERATION_GAP = 1000;

/** A restored store whose environments are held. */
export interface HeldStore {
  heldEnvs: string[];
  /** Environments whose pending destruction of secrets was cancelled. */
  sparedEnvs: string[];
  /** Environments whose rollouts were halted, because hosts may have advanced since the backup. */
  haltedEnvs: string[];
}

/**
 * Holds every environment of a restored store, which lacks all changes since its backup, until somebody has reviewed
 * it. Sequences and generations are never reused, rollouts are halted, and no secrets are destroyed for a reason that
 * may be outdated.
 */
export async function holdRestored(work: Store, now: number): Promise<HeldStore> {
  await skipSequences(work, SEQUENCE_GAP);
  await skipGenerations(work, GENERATION_GAP);
  const sparedEnvs = await recordSpared(work, now);
  const haltedEnvs = await haltRollouts(work, now);
  const heldEnvs = await holdEnvs(work, now);
  for (const env of heldEnvs) {
    await addAuditEntry(work, auditEntry({ clock: () => now }, byService('env.hold'), { target: env, env }));
    await announce(work, { type: 'env.held', now, env });
  }
  return { heldEnvs, sparedEnvs, haltedEnvs };
}

/** Dependencies of the watch over the store. */
interface WatchDependencies extends AuditDependencies {
  readonly secretstore: Pick<Secretstore, 'listSecrets' | 'writeSecret' | 'destroySecret'>;
  readonly log: LogLine;
}

/** Compares the store with its notes in the secretstore. */
export interface StoreWatch {
  /** Compares once, before the first check-in is answered. */
  first: () => Promise<void>;
  /** Compares, and writes to the secretstore what has changed since. Throws PeerErrors. */
  look: () => Promise<void>;
}

/**
 * Notices a store that was restored by whatever means: the secretstore has a mark for a newer entry of the audit log
 * than the store. Then holds the environments, and applies the notes: locks, retirements and kits since the backup.
 */
export function watchStore(deps: WatchDependencies): StoreWatch {
  let first: Promise<void> | null = null;
  let areNotesApplied = false;
  const look = async () => {
    const { secretstore, store } = deps;
    const marks = (await secretstore.listSecrets(markPlace)).map(({ key }) => key);
    const isOlder = newestMark(marks) > (await newestAuditId(store));
    if (isOlder) {
      areNotesApplied = false;
      await holdOlderStore(deps);
      for (const key of marks) await secretstore.destroySecret(markPlace, key);
    }
    const [known, from] = isOlder ? [[], 0] : [marks, newestMark(marks)];
    const shouldApply = isOlder || (!areNotesApplied && (await listHeldEnvs(store)).length > 0);
    // Note the changes since the restore first, unless they cannot be distinguished from changes before the backup.
    if (shouldApply && !isOlder) await noteChanges(deps, from);
    if (shouldApply) await applyNotes(deps);
    areNotesApplied = true;
    const last = await noteChanges(deps, from);
    if (last <= from) return;
    await secretstore.writeSecret({ env: markPlace, key: markOf(last), data: { noted: 'true' } });
    for (const key of known) await secretstore.destroySecret(markPlace, key);
  };
  const lookFirst = async () => {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      deps.log('warn', `the store cannot be compared with the marks in the secretstore yet: ${error.message}`);
    }
  };
  return {
    look,
    first: () => {
      first ??= lookFirst().catch((error: unknown) => {
        first = null;
        throw error;
      });
      return first;
    },
  };
}

async function holdOlderStore({ store, clock, log }: WatchDependencies): Promise<void> {
  const now = clock();
  const { heldEnvs } = await store.transaction().execute(async (work) => {
    const target = 'the store is older than its mark in the secretstore';
    await addAuditEntry(work, auditEntry({ clock }, byService('service.noticeRestore'), { target, env: null }));
    return holdRestored(work, now);
  });
  log('warn', 'the store is older than its mark in the secretstore: every environment is held until it is reviewed', {
    envs: heldEnvs.length,
  });
}

/** Actions whose effect a restore must not undo, on the backend that is their target. */
const notedActs = ['backend.lock', 'backend.unlock', 'backend.retire', 'backend.kit'];
/** Milliseconds after which no transaction adds an entry with a lower id any more. */
const SETTLED_MS = 30_000;
/** Entries of the audit log to read at a time. */
const ENTRIES_AT_ONCE = 1000;

/** Writes notes of the changes after an entry of the audit log; returns the last entry that was considered. */
async function noteChanges(deps: WatchDependencies, after: number): Promise<number> {
  for (let last = after; ;) {
    const entries = await listAuditAfter(deps.store, last, ENTRIES_AT_ONCE);
    const unsettled = entries.findIndex(({ at }) => at > deps.clock() - SETTLED_MS);
    const settled = unsettled === -1 ? entries : entries.slice(0, unsettled);
    const isNoted = ({ act, result }: AuditRow) => result === 'ok' && notedActs.includes(act);
    for (const id of new Set(settled.filter(isNoted).map(({ target }) => target))) await noteBackend(deps, id);
    last = settled.at(-1)?.id ?? last;
    if (settled.length < ENTRIES_AT_ONCE) return last;
  }
}

async function noteBackend({ store, secretstore }: WatchDependencies, id: string): Promise<void> {
  const row = await findBackend(store, id);
  if (row === null) return;
  const write = (note: Note) =>
    secretstore.writeSecret({ env: notePlace, key: noteKey(note), data: { noted: 'true' } });
  // Not the newest generation: a restore skips some, and no host has a token of those.
  if (row.kits > 0) await write({ id, kind: 'kit', generation: row.oldest_generation });
  if (['retiring', 'finishing', 'retired'].includes(row.state)) await write({ id, kind: 'retired' });
  if (row.locked_at === null) await secretstore.destroySecret(notePlace, noteKey({ id, kind: 'locked' }));
  else await write({ id, kind: 'locked' });
}

/** Applies the notes to a restored store. */
async function applyNotes(deps: WatchDependencies): Promise<void> {
  const { store, secretstore, clock, log } = deps;
  const notes = (await secretstore.listSecrets(notePlace)).flatMap(({ key }) => noteOf(key) ?? []);
  const missing = new Set<string>();
  for (const note of notes) {
    const isThere = await store.transaction().execute((work) => applyNote(work, note, clock()));
    if (!isThere) missing.add(note.id);
  }
  await store.transaction().execute((work) => recordSpared(work, clock()));
  if (missing.size > 0)
    log('warn', 'backends that were created after the backup are missing: create them again', { ids: [...missing] });
}

async function applyNote(work: Store, note: Note, now: number): Promise<boolean> {
  const row = await findBackend(work, note.id);
  if (row === null) return false;
  const isChanged = await applyTo(work, row, { note, now });
  const caller = byService('backend.restore');
  if (isChanged) await addAuditEntry(work, auditEntry({ clock: () => now }, caller, { target: row.id, env: row.env }));
  return true;
}

async function applyTo(work: Store, row: BackendRow, { note, now }: { note: Note; now: number }): Promise<boolean> {
  if (note.kind === 'retired') {
    const event = { type: 'RETIRE', force: true, purgeVolumes: false } as const;
    const isLive = ['created', 'invited', 'active', 'offline'].includes(row.state);
    return isLive && (await changeBackend(work, row.id, { event, now })) !== null;
  }
  if (note.kind === 'locked') {
    if (row.locked_at !== null) return false;
    await setLock(work, row.id, now);
    return true;
  }
  if (note.generation <= row.oldest_generation) return false;
  if (row.state === 'created') await changeBackend(work, row.id, { event: { type: 'REVEAL_KIT' }, now });
  await raiseGeneration(work, row.id, note.generation);
  return true;
}

/** Largest number of hosts of an environment, and of archives, in a review. */
const MAX_LISTED = 200;

/** Dependencies of a review. */
export type ReviewDependencies = ArchiveDependencies;

/**
 * Shows the effects of the release of each held environment, and the archives that the store does not know. Throws PeerErrors.
 */
export async function reviewRestore(
  deps: ReviewDependencies,
  { operator, signal }: { operator: Operator; signal: AbortSignal },
): Promise<RestoreReview> {
  const envs = visibleEnvs(operator.permissions);
  const isVisible = (env: string | undefined) => envs === null || (env !== undefined && envs.includes(env));
  const held = (await listHeldEnvs(deps.store)).filter(({ name }) => isVisible(name));
  const archives = await listUnknownArchives(deps, signal);
  const visible = archives.filter(({ identity }) => isVisible(identity?.env));
  const views: HeldEnv[] = [];
  for (const row of held) views.push(await reviewEnv(deps, row, archives));
  const listed = visible.slice(0, MAX_LISTED);
  return {
    envs: views,
    archives: listed.map(({ sha256, storedAt, identity }) => ({
      sha256,
      stored_at: toTime(storedAt),
      ...namesOf(identity),
    })),
    more_archives: visible.length - listed.length,
  };
}

function namesOf(identity: UnknownArchive['identity']) {
  return identity ?? { env: null, name: null, version: null, sequence: null };
}

async function reviewEnv(
  { store }: ReviewDependencies,
  row: EnvRow,
  archives: readonly UnknownArchive[],
): Promise<HeldEnv> {
  const { name: env, desired_sha, held_since } = row;
  const heldSince = held_since ?? 0;
  const [backends, desired] = await Promise.all([listUnretired(store, env), readDesired(store, [env])]);
  const digests = backends
    .flatMap((backend) => [desired.of(backend).sha256, backend.applied_sha])
    .filter((sha) => sha !== null);
  const known = await findSequences(store, [...new Set(digests), ...(desired_sha === null ? [] : [desired_sha])]);
  const stored = new Map(archives.map(({ sha256, identity }) => [sha256, identity?.sequence]));
  const sequenceOf = (sha256: string) => known.get(sha256) ?? stored.get(sha256);
  const hosts = backends.map((backend) =>
    hostView(backend, { desiredSha: desired.of(backend).sha256, sequenceOf, heldSince }),
  );
  const sorted = hosts.toSorted((one, other) => hostChanges.indexOf(one.change) - hostChanges.indexOf(other.change));
  return {
    env,
    held_since: toTime(heldSince),
    desired_sha,
    desired_sequence: desired_sha === null ? null : (known.get(desired_sha) ?? null),
    silent: hosts.filter(({ has_checked_in }) => !has_checked_in).length,
    changes: countChanges(hosts.map(({ change }) => change)),
    hosts: sorted.slice(0, MAX_LISTED),
  };
}

function hostView(
  row: BackendRow,
  {
    desiredSha,
    sequenceOf,
    heldSince,
  }: { desiredSha: string | null; sequenceOf: (sha256: string) => number | undefined; heldSince: number },
): HeldHost {
  const { id, site, state, applied_sha: appliedSha, last_seen_at, locked_at, check_in } = row;
  return {
    id,
    site,
    host: check_in === null ? null : (JSON.parse(check_in) as CheckInRequest).host.name,
    state,
    has_checked_in: last_seen_at !== null && last_seen_at >= heldSince,
    applied_sha: appliedSha,
    applied_sequence: appliedSha === null ? null : (sequenceOf(appliedSha) ?? null),
    desired_sha: desiredSha,
    change: hostChangeOf({ state, isLocked: locked_at !== null, appliedSha, desiredSha, sequenceOf }),
  };
}

/** An archive to adopt, and who asks for it. */
interface Adoption {
  operator: Operator;
  caller: AuditCaller;
  sha256: string;
  signal: AbortSignal;
}

/**
 * Makes a bundle of an archive that is stored, as a push of it does, with its own sequence. Throws like `acceptBundle`,
 * and 404 unless the storage has it.
 */
export async function adoptArchive(
  deps: ArchiveDependencies,
  { sha256, signal, ...who }: Adoption,
): Promise<AcceptedBundle> {
  const stored = await deps.bundles.list();
  if (!stored.some((archive) => archive.sha256 === sha256)) throw notFound('archive');
  return withScratchDirectory(deps, async (scratch) => {
    const file = join(scratch, 'archive');
    const sizeBytes = await fetchArchive(deps, { sha256, file, signal });
    return acceptBundle(deps, { ...who, file, sha256, sizeBytes, signal, isAdopted: true });
  });
}

/** A release of a held environment: the desired bundle is the one that the caller has reviewed. */
interface Release {
  caller: AuditCaller;
  env: string;
  desiredSha: string | null;
  signal: AbortSignal;
}

/**
 * Ends the hold of an environment. Its sequences continue above the sequences of stored archives and of its hosts. Throws 404,
 * 409 `ENV_NOT_HELD` and `DESIRED_DIFFERS`, and PeerErrors.
 */
export async function releaseHeldEnv(
  deps: ReviewDependencies,
  { caller, env, desiredSha, signal }: Release,
): Promise<EnvDetails> {
  await raiseShownSequences(deps, env, signal);
  const now = deps.clock();
  await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    if (row.held_since === null) throw conflict({ code: 'ENV_NOT_HELD', message: 'the environment is not held', env });
    if (row.desired_sha !== desiredSha) {
      const message = `the desired bundle is ${row.desired_sha ?? 'none'}, not ${desiredSha ?? 'none'}`;
      throw conflict({ code: 'DESIRED_DIFFERS', message, env });
    }
    await releaseEnv(work, env);
    await announce(work, { type: 'env.released', now, env });
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
  return readEnv(deps, env);
}

/** Halts every rollout that is not halted already. Returns the environments. */
async function haltRollouts(work: Store, now: number): Promise<string[]> {
  const rollouts = await listActiveRollouts(work, null);
  for (const row of rollouts) {
    const halted = await changeRollout(work, row, { event: { type: 'HALT', by: 'restore' }, now });
    if (halted === null) continue;
    const entry = auditEntry({ clock: () => now }, byService('rollout.halt'), { target: row.id, env: row.env });
    await addAuditEntry(work, entry);
  }
  return rollouts.map(({ env }) => env);
}

/** Cancels all pending destructions of secrets. Returns the environments. */
async function recordSpared(work: Store, now: number): Promise<string[]> {
  const spared = await spareSecrets(work, now);
  for (const { backendId, env } of spared) {
    const caller = byService('env.spareSecrets');
    await addAuditEntry(work, auditEntry({ clock: () => now }, caller, { target: backendId ?? env, env }));
  }
  return [...new Set(spared.map(({ env }) => env))];
}
