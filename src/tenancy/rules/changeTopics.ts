import type { AuditRow } from '../store/database.ts';
import { forbiddenReason, type Permission } from './permission.ts';

/** What a follower of the service looks at again when it has changed. */
export const topics = ['backends', 'bundles', 'envs', 'rollouts', 'secrets', 'people', 'webhooks', 'audit'] as const;
export type Topic = (typeof topics)[number];

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
