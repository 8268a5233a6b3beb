import type { Backend } from '../api/types.ts';

/** Whether a host is healthy: `-` before its first check-in, `unknown` while it is silent. */
export function formatHealth({ healthy, last_seen_at }: Pick<Backend, 'healthy' | 'last_seen_at'>): string {
  if (healthy === null) return last_seen_at === null ? '-' : 'unknown';
  return healthy ? 'yes' : 'no';
}
