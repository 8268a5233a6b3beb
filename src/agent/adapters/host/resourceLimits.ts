import { readRegularFile } from '../../../core/files.ts';

/** Limits of each process of a program. */
export interface ResourceLimits {
  /** Seconds of CPU time, of all threads together. */
  cpu_s: number;
  /** Bytes of private memory: heap, stacks of threads. */
  memory_bytes: number;
}

const MiB = 1024 * 1024;

/**
 * Limits of compose on a host with `total_bytes` of memory. To render a bundle at all its bounds, compose 2.20 needs 2
 * s and 400 MiB, newer versions 3 s and 180 MiB.
 */
export function composeLimitsOf(total_bytes: number): ResourceLimits {
  return { cpu_s: 300, memory_bytes: Math.max(512 * MiB, Math.min(4096 * MiB, total_bytes / 2)) };
}

/**
 * Arguments that run a program under limits: the shell sets them and execs the program, so pid, group, arguments and
 * environment are the program's own. A lower limit that is already set stays. `RLIMIT_DATA` counts written memory, not
 * the address space that Go reserves.
 */
export function withUlimits(argv: readonly string[], { cpu_s, memory_bytes }: ResourceLimits): [string, ...string[]] {
  const set = `ulimit -t ${cpu_s} 2>/dev/null; ulimit -d ${Math.floor(memory_bytes / 1024)} 2>/dev/null; exec "$@"`;
  return ['/bin/sh', '-c', set, 'sh', ...argv];
}

/** How a Go program reports that it is out of memory; a long stack trace follows. */
const outOfMemory = /^(fatal error: .*memory|runtime\/cgo: pthread_create failed)/m;
const maxPatternLength = 200;

/** Observes one program that runs under limits. */
export function watchLimits({ cpu_s, memory_bytes }: ResourceLimits) {
  const before_s = childrenCpuSeconds();
  let isOutOfMemory = false;
  let recent = '';
  return {
    /** Receives its standard error. */
    onStderr: (chunk: Buffer) => {
      if (isOutOfMemory) return;
      const text = recent + chunk.toString('latin1');
      isOutOfMemory = outOfMemory.test(text);
      recent = text.slice(-maxPatternLength);
    },
    /** The limit that made a program fail; null for any other reason. */
    limitReached: (rc: number): string | null => {
      if (isOutOfMemory) return `${Math.floor(memory_bytes / MiB)} MiB of memory`;
      const isOutOfTime = killExitCodes.has(rc) && childrenCpuSeconds() - before_s > minCpuShare * cpu_s;
      return isOutOfTime ? `${cpu_s} s of CPU time` : null;
    },
  };
}

/** Message for a compose that reached this limit. */
export function formatLimitReached(limit: string): string {
  return `it reached its limit of ${limit}; make the bundle smaller`;
}

const ticksPerSecond = 100;
/**
 * The kernel enforces the limit by sampling but reports exact times: on a busy host, killed programs had used as little
 * as 85 % of their limit.
 */
const minCpuShare = 0.7;
/** SIGKILL, and the exit code of `docker` when its plugin was killed. */
const killExitCodes: ReadonlySet<number> = new Set([137, 255]);

/** CPU seconds of all exited children and their descendants; 0 when the kernel does not report them. */
function childrenCpuSeconds(): number {
  try {
    const stat = readRegularFile('/proc/self/stat').toString('latin1');
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
