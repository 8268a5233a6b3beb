import type { AuditRow } from '../store/database.ts';
import { forbiddenReason, type Permission } from './permission.rules.ts';

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

/** What a follower of the service looks at again when it has changed. */
export const topics = ['backends', 'bundles', 'envs', 'rollouts', 'secrets', 'people', 'webhooks', 'audit'] as const;
type Topic = (typeof topics)[number];

/** Something that has changed in an env, in none (null), or in some env that nobody knows (`any`). */
export interface Change {
  topic: Topic;
  env: string | null | { any: true };
}

/** By the first word of acts: what they change. */
const topicsOfActs: Record<string, readonly Topic[]> = {
  backend: ['backends'],
  bundle: ['bundles', 'envs'],
  env: ['envs', 'backends'],
  operator: ['people'],
  rollout: ['rollouts', 'envs', 'backends'],
  secret: ['secrets'],
  service: ['people'],
  session: ['people'],
  signature: ['bundles', 'envs'],
  webhook: ['webhooks'],
};

/** What an entry of the audit log tells to have changed; of an act that was refused or begun, the audit log alone. */
export function changesOfEntry({ act, env, result }: Pick<AuditRow, 'act' | 'env' | 'result'>): Change[] {
  const changed = result === 'ok' ? (topicsOfActs[act.split('.', 1)[0] ?? ''] ?? []) : [];
  return [...changed, 'audit' as const].map((topic) => ({ topic, env }));
}

/** The topics of changes that a caller may look at, in the order of `topics`. */
export function visibleTopics(permissions: readonly Permission[], changes: readonly Change[]): Topic[] {
  const visible = new Set(changes.filter((change) => isVisible(permissions, change)).map(({ topic }) => topic));
  return topics.filter((topic) => visible.has(topic));
}

function isVisible(permissions: readonly Permission[], { topic, env }: Change): boolean {
  const role = topic === 'audit' || topic === 'people' ? 'admin' : 'viewer';
  const needed = env === null ? ({ every: true } as const) : typeof env === 'string' ? env : null;
  return forbiddenReason(permissions, { role, env: needed }) === null;
}
