/** Milliseconds of a monotonic clock. Not `performance`, which would load nine more modules in every tick. */
export function monotonicMs(): number {
  return process.uptime() * 1000;
}

/** Milliseconds that the wall clock is ahead of the monotonic clock; it changes when the wall clock is set. */
export function wallClockOffsetMs(): number {
  return Date.now() - monotonicMs();
}
