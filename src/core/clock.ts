import { uptime } from 'node:os';
import { readRegularFile } from './files.ts';

/** Milliseconds of a monotonic clock. Not `performance`, which would load nine more modules in every tick. */
export function monotonicMs(): number {
  return process.uptime() * 1000;
}

/** Milliseconds that the wall clock is ahead of the monotonic clock; it changes when the wall clock is set. */
export function wallClockOffsetMs(): number {
  return Date.now() - monotonicMs();
}

/** A moment by a clock that nobody can set, in seconds since a boot. It includes the time in which the host slept. */
export interface BootTime {
  /** Id of the boot; '' where the kernel has none. */
  boot: string;
  uptime_s: number;
}

/** The current moment. */
export function bootTimeNow(): BootTime {
  return { boot: bootId(), uptime_s: uptime() };
}

/** The second one is a copy of the first by the package's unit, which hides /proc/sys from the agent. */
const bootIdFiles = ['/proc/sys/kernel/random/boot_id', '/run/deployd-boot-id'];

/** Id of the boot; '' where the kernel has none. */
export function bootId(): string {
  for (const file of bootIdFiles) {
    try {
      const id = readRegularFile(file).toString('latin1').trim();
      if (id !== '') return id;
    } catch {
      // The other one may be readable.
    }
  }
  return '';
}
