/** Whether a host is healthy; `-` before its first check-in. */
export function formatHealth(healthy: boolean | null): string {
  return healthy === null ? '-' : healthy ? 'yes' : 'no';
}
