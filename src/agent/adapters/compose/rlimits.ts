import { readRegular } from '../../../platform/regularFile.ts';

/** What each process of a program may use at most. */
export interface Limits {
  /** Seconds of CPU time, those of all its threads together. */
  cpu_s: number;
  /** Bytes of memory of its own: heap, stacks of threads. */
  memory_bytes: number;
}

const MiB = 1024 * 1024;

/**
 * Limits of a compose on a host with so many bytes of memory. To render a bundle that goes to every bound, compose 2.20 needs
 * 2 s and 400 MiB, younger ones 3 s and 180 MiB.
 */
export function limitsOf(total_bytes: number): Limits {
  return { cpu_s: 300, memory_bytes: Math.max(512 * MiB, Math.min(4096 * MiB, total_bytes / 2)) };
}

/**
 * Runs a program under limits: the shell sets them and is replaced by it, so pid, group, arguments and environment are those
 * of the program. A lower limit that stands already stays. `RLIMIT_DATA` counts what is written to, not the addresses
 * that Go reserves.
 */
export function limited(argv: readonly string[], { cpu_s, memory_bytes }: Limits): [string, ...string[]] {
  const set = `ulimit -t ${cpu_s} 2>/dev/null; ulimit -d ${Math.floor(memory_bytes / 1024)} 2>/dev/null; exec "$@"`;
  return ['/bin/sh', '-c', set, 'sh', ...argv];
}

/** First words of a Go program that gets no more memory; a trace without end follows. */
const starved = /^(fatal error: .*memory|runtime\/cgo: pthread_create failed)/m;
const longestWords = 200;

/** Watches one program that runs under limits. */
export function watchLimits({ cpu_s, memory_bytes }: Limits) {
  const before_s = childrenCpu();
  let isStarved = false;
  let last = '';
  return {
    /** Hears what it writes to standard error. */
    hear: (chunk: Buffer) => {
      if (isStarved) return;
      const text = last + chunk.toString('latin1');
      isStarved = starved.test(text);
      last = text.slice(-longestWords);
    },
    /** The limit by which a program that has failed did so; null for any other reason. */
    reached: (rc: number): string | null => {
      if (isStarved) return `${Math.floor(memory_bytes / MiB)} MiB of memory`;
      const isSpent = killed.has(rc) && childrenCpu() - before_s > leastShare * cpu_s;
      return isSpent ? `${cpu_s} s of CPU time` : null;
    },
  };
}

/** What is told of a compose that reached this limit. */
export function exhausted(limit: string): string {
  return `it reached its limit of ${limit}; make the bundle smaller`;
}

const ticksPerSecond = 100;
/** The kernel ends by samples what it tells exactly: a busy host's programs had as little as 85 % of their limit. */
const leastShare = 0.7;
/** SIGKILL, and what `docker` makes of a plugin that it ended. */
const killed: ReadonlySet<number> = new Set([137, 255]);

/** Seconds of CPU time of all children, and theirs, that have ended; 0 where the kernel does not tell. */
function childrenCpu(): number {
  try {
    const stat = readRegular('/proc/self/stat').toString('latin1');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(13, 15)
      .map(Number);
    return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
  } catch {
    return 0;
  }
}
