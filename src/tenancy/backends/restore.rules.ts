import type { BackendState } from '../../../machines/backend.ts';

/**
 * Effects that the release of a held environment has on a host, the most serious ones first. `back`: the desired bundle
 * is older than the applied one. `unknown`: the store does not know the applied bundle. `down`: its services are taken
 * down. `apply`: it applies a newer bundle, or its first one.
 */
export const hostChanges = ['back', 'unknown', 'down', 'apply', 'locked', 'none'] as const;
export type HostChange = (typeof hostChanges)[number];

/** The facts that decide the effect of a release on a host. */
interface ChangeFacts {
  state: BackendState;
  isLocked: boolean;
  appliedSha: string | null;
  desiredSha: string | null;
  /** Returns the sequence of a bundle by its digest; undefined if it is unknown. */
  sequenceOf: (sha256: string) => number | undefined;
}

/** Decides the effect of a release on a host. */
export function hostChangeOf({ state, isLocked, appliedSha, desiredSha, sequenceOf }: ChangeFacts): HostChange {
  if (isLocked) return 'locked';
  if (state === 'retiring') return 'down';
  if (desiredSha === null || desiredSha === appliedSha) return 'none';
  if (appliedSha === null) return 'apply';
  const [applied, desired] = [sequenceOf(appliedSha), sequenceOf(desiredSha)];
  if (applied === undefined || desired === undefined) return 'unknown';
  return applied < desired ? 'apply' : 'back';
}

/** Counts hosts by the effect of a release. */
export function countChanges(changes: readonly HostChange[]): Record<string, number> {
  return Object.fromEntries(hostChanges.map((change) => [change, changes.filter((each) => each === change).length]));
}

/**
 * Places of the service's own notes in the secretstore, beside the secrets of environments; no environment has such a
 * name. The names of the notes say everything, because the service may write secrets but not read them.
 */
export const markPlace = '_mark';
export const notePlace = '_notes';

/** Digits of a mark, so that marks sort as numbers. */
const MARK_DIGITS = 15;

/** The mark for an entry of the audit log: the store had the entry. */
export function markOf(auditId: number): string {
  return String(auditId).padStart(MARK_DIGITS, '0');
}

/** The entry of the newest mark; 0 without one. */
export function newestMark(keys: readonly string[]): number {
  return keys.filter((key) => /^\d{15}$/.test(key)).reduce((newest, key) => Math.max(newest, Number(key)), 0);
}

/** A fact about a backend that a restore must not undo. */
export type Note =
  { id: string; kind: 'locked' } | { id: string; kind: 'retired' } | { id: string; kind: 'kit'; generation: number };

/** The name of a note. */
export function noteKey(note: Note): string {
  return note.kind === 'kit' ? `kit.${note.id}.${note.generation}` : `${note.kind}.${note.id}`;
}

/** The note of a name; null for any other name. */
export function noteOf(key: string): Note | null {
  const [kind, id = '', generation = ''] = key.split('.');
  if (!/^[0-9a-f-]{36}$/.test(id)) return null;
  if (kind === 'kit') return /^\d{1,15}$/.test(generation) ? { id, kind, generation: Number(generation) } : null;
  return (kind === 'locked' || kind === 'retired') && generation === '' ? { id, kind } : null;
}
