/** Time since an RFC 3339 time, as tables show it: `12s`, `5m`, `3h`, `9d`; a dash for never. */
export function formatAge(at: string | null, nowMs: number): string {
  const ageMs = at === null ? NaN : nowMs - Date.parse(at);
  return Number.isNaN(ageMs) ? '-' : formatSpan(Math.max(0, ageMs));
}

/** A time with its distance: `2026-11-25T09:36:11Z (5m ago)`, `2026-11-26T09:36:11Z (in 23h)`. */
export function formatTime(at: string | null, nowMs: number): string {
  if (at === null) return 'never';
  const leftMs = Date.parse(at) - nowMs;
  return leftMs >= 1000 ? `${at} (in ${formatSpan(leftMs)})` : `${at} (${formatAge(at, nowMs)} ago)`;
}

/** Time until an RFC 3339 time: `23h`; `never` for none. */
export function formatLeft(at: string | null, nowMs: number): string {
  return at === null ? 'never' : formatSpan(Math.max(0, Date.parse(at) - nowMs));
}

function formatSpan(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}

const units: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];
