/** Time since an RFC 3339 time, as tables show it: `12s`, `5m`, `3h`, `9d`; a dash for never. */
export function formatAge(at: string | null, nowMs: number): string {
  const seconds = at === null ? NaN : Math.max(0, Math.floor((nowMs - Date.parse(at)) / 1000));
  if (Number.isNaN(seconds)) return '-';
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** A time with its age: `2026-11-25T09:36:11Z (5m ago)`. */
export function formatTime(at: string | null, nowMs: number): string {
  return at === null ? 'never' : `${at} (${formatAge(at, nowMs)} ago)`;
}

const units: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];
