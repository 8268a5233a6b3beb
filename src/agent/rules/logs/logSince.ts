const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * From when on a log is wanted, from what an operator wrote: how long ago (`90s`, `10m`, `2h`, `3d`), or a date and time, by the time
 * zone of this host unless they name another one. Null for another text.
 */
export function logSinceOf(text: string, now: Date): Date | null {
  const [, number, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return new Date(now.getTime() - Number(number) * unitMs[unit as keyof typeof unitMs]);
  const isTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/.test(text);
  const time = new Date(text.replace(' ', 'T'));
  return isTime && !Number.isNaN(time.getTime()) ? time : null;
}
