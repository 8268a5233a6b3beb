import type { AuditRow } from '../store/database.ts';
import { changesOfEntry, topics, type Change } from './changeTopics.ts';

/** What tells that something in the store has changed, as it was at a time. */
export interface ChangeMarks {
  /** The newest entries of the audit log, newest first. */
  entries: readonly Pick<AuditRow, 'id' | 'act' | 'env' | 'result'>[];
  /** Differs after each check-in, report and step of a retirement, and when a host becomes silent. */
  hosts: string;
  /** Rollouts that are not over; `mark` differs when they go on. */
  rollouts: readonly { id: string; env: string; mark: string }[];
}

/** What has changed between two times. */
export function changesBetween(before: ChangeMarks, after: ChangeMarks): Change[] {
  const hosts: Change[] = before.hosts === after.hosts ? [] : [{ topic: 'backends', env: { any: true } }];
  return [...changesOfLog(before.entries, after.entries), ...hosts, ...changesOfRollouts(before, after)];
}

/** Entries of instances that write at the same time may become visible in another order than that of their ids. */
function changesOfLog(before: ChangeMarks['entries'], after: ChangeMarks['entries']): Change[] {
  const known = new Set(before.map(({ id }) => id));
  // What stands between the two is not known.
  if (before.length > 0 && !after.some(({ id }) => known.has(id))) {
    return topics.map((topic) => ({ topic, env: { any: true } }));
  }
  const oldest = before.at(-1)?.id ?? 0;
  return after.filter(({ id }) => id > oldest && !known.has(id)).flatMap(changesOfEntry);
}

function changesOfRollouts({ rollouts: before }: ChangeMarks, { rollouts: after }: ChangeMarks): Change[] {
  const marks = new Map(before.map(({ id, mark }) => [id, mark]));
  return after.flatMap(({ id, env, mark }) => (marks.get(id) === mark ? [] : [{ topic: 'rollouts' as const, env }]));
}
