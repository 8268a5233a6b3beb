import type { ChildProcess } from 'node:child_process';
import { Fault, throwIfStopped } from '../../../machines/fault.ts';
import { SYSTEM_PATH } from '../../core/accounts.ts';
import { causeLine, causeSaid, codeOfFailure } from '../../core/failureCauses.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { ignoreError } from '../transport/httpRequest.ts';

/** How to run one program. */
export interface RunOptions {
  argv: readonly [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  timeoutS: number;
  redactor: Redactor;
  /** Limits of each of its processes. */
  limits?: ResourceLimits | undefined;
  /** The standard input of the program; absent for no input. */
  stdin?: string | undefined;
  /** Receives raw standard output, secrets included; `stdout` and `tail` then contain none of it. */
  onStdout?: ((chunk: Buffer) => void) | undefined;
  /** Receives each line of standard error; a line for which it returns true does not become part of `tail`. */
  onErrorLine?: ((line: string) => boolean) | undefined;
  /** Terminates the program, as its timeout does. */
  giveUp?: AbortSignal | undefined;
}

/**
 * How a program ended: `rc` is 128 + n after signal n, 127 when it did not start; `tail` is the last 8 KiB of both
 * streams, redacted.
 */
export interface RunResult {
  rc: number;
  /** The error code when an existing program could not be started: `EMFILE`, `EAGAIN`. */
  startError: string | null;
  timedOut: boolean;
  /** The resource limit that made it fail. */
  limitReached: string | null;
  stdout: string;
  tail: string;
}

const TAIL_CHARS = 8 * 1024;
/** A program that ignores SIGTERM is killed after this; well inside the 15 s that a tick has to end (spec §2). */
const KILL_AFTER_MS = 5_000;
/** Time to read what is left in the pipes after the program exits. */
const OUTPUT_GRACE_MS = 1_000;

/**
 * Runs a program in its own process group.
 * - Timeout and abort terminate the whole group: SIGTERM, then SIGKILL.
 * - The program's own exit is decisive: the rest of its group is killed, and a process that still holds its output open
 * is not awaited.
 * - All output is redacted, except for `onStdout`. Throws Fault `stopped` after an abort.
 */
export async function runProgram(
  { argv, cwd, env, timeoutS, redactor, limits, stdin, onStdout, onErrorLine, giveUp }: RunOptions,
  signal: AbortSignal,
): Promise<RunResult> {
  const { spawn } = await import('node:child_process');
  throwIfStopped(signal);
  const [program, ...args] = limits ? withUlimits(argv, limits) : argv;
  const watch = limits && watchLimits(limits);
  const output = createOutputCollector(redactor, onErrorLine);
  const input = stdin === undefined ? 'ignore' : 'pipe';
  const child = trySpawn(() => spawn(program, args, { cwd, env, detached: true, stdio: [input, 'pipe', 'pipe'] }));
  if (typeof child === 'string') return { ...startFailure(child), limitReached: null, ...output.end() };
  child.stdin?.on('error', ignoreError).end(stdin); // a program may exit before it has read it
  // without free descriptors there are no streams
  child.stdout?.on('data', onStdout ?? output.stdout);
  child.stderr?.on('data', output.stderr);
  if (watch) child.stderr?.on('data', watch.onStderr);
  const exit = await waitForExit(child, { timeoutS, giveUp }, signal);
  killGroup(child.pid, 'SIGKILL');
  throwIfStopped(signal);
  const limitReached = exit.rc === 0 || !watch ? null : watch.limitReached(exit.rc);
  return { ...exit, limitReached, ...output.end() };
}

/** Message for a program that exists but was not started. */
export function formatStartError(code: string): string {
  return `cannot be started (${code})`;
}

type ProcessExit = Pick<RunResult, 'rc' | 'startError' | 'timedOut'>;

/** Node throws some spawn errors and emits others later as `error`. */
function trySpawn(spawn: () => ChildProcess): ChildProcess | string {
  try {
    return spawn();
  } catch (error) {
    return codeOf(error);
  }
}

function startFailure(code: string): ProcessExit {
  return { rc: 127, startError: code === 'ENOENT' ? null : code, timedOut: false };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
}

/** Resolves when the program has exited and its output is read; after a forced end, when its group is gone. */
async function waitForExit(
  child: ChildProcess,
  { timeoutS, giveUp }: Pick<RunOptions, 'timeoutS' | 'giveUp'>,
  signal: AbortSignal,
): Promise<ProcessExit> {
  let [isForced, timedOut] = [false, false];
  const force = () => {
    isForced = true;
    terminateGroup(child);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    force();
  }, timeoutS * 1000);
  const endings = [signal, ...(giveUp ? [giveUp] : [])];
  for (const each of endings) each.addEventListener('abort', force);
  child.once('exit', () => {
    clearTimeout(timer);
    if (!isForced) closeOutputAfterGrace(child);
  });
  try {
    return await new Promise<ProcessExit>((resolve) => {
      child.once('error', (error) => resolve(startFailure(codeOf(error))));
      child.once('close', (code, name) =>
        resolve({ rc: code ?? 128 + signalNumber(name), startError: null, timedOut }),
      );
    });
  } finally {
    clearTimeout(timer);
    for (const each of endings) each.removeEventListener('abort', force);
  }
}

/** `setImmediate`, because pending output is read between timers and immediates. */
function closeOutputAfterGrace(child: ChildProcess): void {
  const grace = setTimeout(() => setImmediate(closeOutput, child), OUTPUT_GRACE_MS);
  child.once('close', () => clearTimeout(grace));
}

function closeOutput({ stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
}

function createOutputCollector(redactor: Redactor, onErrorLine: RunOptions['onErrorLine']) {
  const select = onErrorLine === undefined ? null : lineSelector((line) => !onErrorLine(line));
  const streams = { stdout: redactor.redactStream(), stderr: redactor.redactStream() };
  let stdout = '';
  let tail = '';
  const append = (text: string) => (tail = (tail + text).slice(-TAIL_CHARS));
  const appendStdout = (text: string) => {
    stdout = (stdout + text).slice(0, TAIL_CHARS);
    append(text);
  };
  return {
    stdout: (chunk: Buffer) => appendStdout(streams.stdout.push(chunk)),
    stderr: (chunk: Buffer) => append(streams.stderr.push(select === null ? chunk : select.push(chunk))),
    end: () => {
      appendStdout(streams.stdout.end());
      if (select !== null) append(streams.stderr.push(select.end()));
      append(streams.stderr.end());
      return { stdout, tail };
    },
  };
}

/** A line longer than this passes in parts. */
const MAX_LINE_CHARS = 64 * 1024;

/** Lets the lines of a stream pass that `isKept` accepts; a chunk may end within a line. */
function lineSelector(isKept: (line: string) => boolean) {
  let unfinished = '';
  return {
    push: (chunk: Buffer): Buffer => {
      const lines = (unfinished + chunk.toString('latin1')).split('\n');
      unfinished = lines.pop() ?? '';
      let passed = lines
        .filter(isKept)
        .map((line) => `${line}\n`)
        .join('');
      if (unfinished.length > MAX_LINE_CHARS) {
        passed += unfinished;
        unfinished = '';
      }
      return Buffer.from(passed, 'latin1');
    },
    end: (): Buffer => Buffer.from(unfinished, 'latin1'),
  };
}

/** A process that left the group and holds the output open is not awaited. */
function terminateGroup(child: ChildProcess): void {
  killGroup(child.pid, 'SIGTERM');
  const killTimer = setTimeout(() => {
    killGroup(child.pid, 'SIGKILL');
    closeOutput(child);
  }, KILL_AFTER_MS);
  child.once('close', () => clearTimeout(killTimer));
}

function killGroup(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // the group is gone
  }
}

function signalNumber(name: NodeJS.Signals | null): number {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[name as string] ?? 0;
}

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
function withUlimits(argv: readonly string[], { cpu_s, memory_bytes }: ResourceLimits): [string, ...string[]] {
  const set = `ulimit -t ${cpu_s} 2>/dev/null; ulimit -d ${Math.floor(memory_bytes / 1024)} 2>/dev/null; exec "$@"`;
  return ['/bin/sh', '-c', set, 'sh', ...argv];
}

/** How a Go program reports that it is out of memory; a long stack trace follows. */
const outOfMemory = /^(fatal error: .*memory|runtime\/cgo: pthread_create failed)/m;
const maxPatternLength = 200;

/** Observes one program that runs under limits. */
function watchLimits({ cpu_s, memory_bytes }: ResourceLimits) {
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

/** The environment of docker and compose, with the agent's own configuration: nothing from the host's users. */
export function dockerEnvironment(settings: Settings, configDir: string): Record<string, string> {
  return { PATH: SYSTEM_PATH, HOME: configDir, DOCKER_CONFIG: configDir, DOCKER_HOST: settings.container_host };
}

/**
 * Throws the specification's line unless `docker <command>` succeeded. The line is followed by cause and cure if the
 * output indicates them, and the redacted output is the tail. DISK_INSUFFICIENT replaces `code` if the output says that
 * a disk is full.
 */
export function expectSuccess(
  command: string,
  result: RunResult,
  { code, timeoutS, reason }: { code: string; timeoutS: number; reason?: string | undefined },
): void {
  const { rc, timedOut, tail } = result;
  if (rc === 0 && !timedOut) return;
  const cause = causeSaid(tail);
  const line = `failed: docker ${command} failed (rc=${rc})${reason === undefined ? failureReason(result, timeoutS) : `: ${reason}`}`;
  const moreLines = cause === null ? [] : [causeLine(cause)];
  throw new Fault('failed', line, { code: codeOfFailure(tail, code), tail, isTimeout: timedOut, moreLines });
}

function failureReason({ timedOut, limitReached, startError }: RunResult, timeoutS: number): string {
  if (timedOut) return `: timed out after ${timeoutS}s`;
  if (startError !== null) return `: it ${formatStartError(startError)}`;
  return limitReached === null ? '' : `: ${formatLimitReached(limitReached)}`;
}
