import type { ChildProcess } from 'node:child_process';
import { heed } from '../../../../machines/fault.ts';
import type { Redactor } from '../../secrets/redact.ts';
import { limited, watchLimits, type Limits } from './rlimits.ts';

/** How one program is to be run. */
export interface Run {
  argv: readonly [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  timeoutS: number;
  redactor: Redactor;
  /** Of each of its processes. */
  limits?: Limits | undefined;
  /** Hears standard output raw, secrets and all; then neither `stdout` nor `tail` holds any of it. */
  hear?: ((chunk: Buffer) => void) | undefined;
}

/** How it ended: `rc` is 128 + n after signal n, 127 where it never began; `tail` the last 8 KiB of both streams, redacted. */
export interface Ran {
  rc: number;
  /** The system's code where it could not be started, though it is there: `EMFILE`, `EAGAIN`. */
  unstarted: string | null;
  timedOut: boolean;
  /** The limit that it failed by. */
  reached: string | null;
  stdout: string;
  tail: string;
}

const TAIL_CHARS = 8 * 1024;
/** A program that ignores SIGTERM is killed after this; well inside the 15 s that a tick has to end (spec §2). */
const PATIENCE_MS = 5_000;
/** What a program leaves in its pipes is read by then. */
const GRACE_MS = 1_000;

/**
 * Runs a program in a process group of its own, without stdin.
 * - Timeout or abort end the whole group: SIGTERM, then SIGKILL.
 * - Its own exit decides: what is left of its group then is killed, and nobody else's hold on its output is waited for.
 * - No output leaves unredacted, except to `hear`. Throws Fault `stopped` after an abort.
 */
export async function run(
  { argv, cwd, env, timeoutS, redactor, limits, hear }: Run,
  signal: AbortSignal,
): Promise<Ran> {
  const { spawn } = await import('node:child_process');
  heed(signal);
  const [program, ...args] = limits ? limited(argv, limits) : argv;
  const watch = limits && watchLimits(limits);
  const output = collect(redactor);
  const child = begun(() => spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }));
  if (typeof child === 'string') return { ...neverBegun(child), reached: null, ...output.end() };
  // without a descriptor for them there are no streams
  child.stdout?.on('data', hear ?? output.stdout);
  child.stderr?.on('data', output.stderr);
  if (watch) child.stderr?.on('data', watch.hear);
  const ended = await endOf(child, timeoutS, signal);
  killGroup(child.pid, 'SIGKILL');
  heed(signal);
  const reached = ended.rc === 0 || !watch ? null : watch.reached(ended.rc);
  return { ...ended, reached, ...output.end() };
}

/** What is told of a program that is there and was not started. */
export function unstartable(code: string): string {
  return `cannot be started (${code})`;
}

type End = Pick<Ran, 'rc' | 'unstarted' | 'timedOut'>;

/** What is wrong with the system is thrown at times, and told later at others. */
function begun(spawn: () => ChildProcess): ChildProcess | string {
  try {
    return spawn();
  } catch (error) {
    return codeOf(error);
  }
}

function neverBegun(code: string): End {
  return { rc: 127, unstarted: code === 'ENOENT' ? null : code, timedOut: false };
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
}

/** Once it has exited and its output is read; ended by force, once its group is gone. */
async function endOf(child: ChildProcess, timeoutS: number, signal: AbortSignal): Promise<End> {
  let [isForced, timedOut] = [false, false];
  const force = () => {
    isForced = true;
    endGroup(child);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    force();
  }, timeoutS * 1000);
  signal.addEventListener('abort', force);
  child.once('exit', () => {
    clearTimeout(timer);
    if (!isForced) letGoSoon(child);
  });
  try {
    return await new Promise<End>((resolve) => {
      child.once('error', (error) => resolve(neverBegun(codeOf(error))));
      child.once('close', (code, name) => resolve({ rc: code ?? 128 + signalNumber(name), unstarted: null, timedOut }));
    });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', force);
  }
}

/** What came until then is read between the timers and the immediates. */
function letGoSoon(child: ChildProcess): void {
  const grace = setTimeout(() => setImmediate(letGo, child), GRACE_MS);
  child.once('close', () => clearTimeout(grace));
}

function letGo({ stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
}

function collect(redactor: Redactor) {
  const streams = { stdout: redactor.stream(), stderr: redactor.stream() };
  let stdout = '';
  let tail = '';
  const keep = (text: string) => (tail = (tail + text).slice(-TAIL_CHARS));
  const keepOut = (text: string) => {
    stdout = (stdout + text).slice(0, TAIL_CHARS);
    keep(text);
  };
  return {
    stdout: (chunk: Buffer) => keepOut(streams.stdout.push(chunk)),
    stderr: (chunk: Buffer) => keep(streams.stderr.push(chunk)),
    end: () => {
      keepOut(streams.stdout.end());
      keep(streams.stderr.end());
      return { stdout, tail };
    },
  };
}

/** What left the group and holds the output open is not waited for. */
function endGroup(child: ChildProcess): void {
  killGroup(child.pid, 'SIGTERM');
  const last = setTimeout(() => {
    killGroup(child.pid, 'SIGKILL');
    letGo(child);
  }, PATIENCE_MS);
  child.once('close', () => clearTimeout(last));
}

function killGroup(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch {
    // the group is gone already
  }
}

function signalNumber(name: NodeJS.Signals | null): number {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[name as string] ?? 0;
}
