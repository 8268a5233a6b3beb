/** Milliseconds of a clock that never jumps. Node's `performance` would tell them too, for nine modules more in every tick. */
export function clockMs(): number {
  return process.uptime() * 1000;
}

/** How far the wall clock is ahead of it, in milliseconds: another number once the wall clock was set. */
export function wallAheadMs(): number {
  return Date.now() - clockMs();
}
