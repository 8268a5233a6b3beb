/** What each process of a program may use at most. */
export interface Limits {
  /** Seconds of CPU time, those of all its threads together. */
  cpu_s: number;
  /** Bytes of memory of its own: heap, stacks of threads. */
  memory_bytes: number;
}

const MiB = 1024 * 1024;

/**
 * Limits of a compose on a host with so many bytes of memory. Nothing that a bundle within its bounds asks for comes near:
 * compose then needs seconds, and less than 400 MiB.
 */
export function limitsOf(total_bytes: number): Limits {
  return { cpu_s: 300, memory_bytes: Math.max(512 * MiB, Math.min(4096 * MiB, total_bytes / 2)) };
}
