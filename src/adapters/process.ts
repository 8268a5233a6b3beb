import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { heed } from '../../machines/fault.ts';
import type { Redactor } from '../secrets/redact.ts';
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

/** How it ended: `rc` is 128 + n after signal n; `tail` the last 8 KiB of both streams, redacted. */
export interface Ran {
  rc: number;
  timedOut: boolean;
  /** The limit that it failed by. */
  reached: string | null;
  stdout: string;
  tail: string;
}

const TAIL_CHARS = 8 * 1024;
/** A program that ignores SIGTERM is killed after this; well inside the 15 s that a tick has to end (spec §2). */
const PATIENCE_MS = 8_000;

/**
 * Runs a program in a process group of its own, without stdin.
 * - Timeout or abort end the whole group: SIGTERM, then SIGKILL.
 * - It returns only when the program and its group are gone; after an end by force nobody else's hold is waited for.
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
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collect(redactor);
  child.stdout.on('data', hear ?? output.stdout);
  child.stderr.on('data', output.stderr);
  if (watch) child.stderr.on('data', watch.hear);

  let timedOut = false;
  const end = () => endGroup(child);
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutS * 1000);
  signal.addEventListener('abort', end);
  try {
    const rc = await new Promise<number>((resolve) => {
      child.once('error', () => resolve(127));
      child.once('close', (code, name) => resolve(code ?? 128 + signalNumber(name)));
    });
    killGroup(child.pid, 'SIGKILL');
    heed(signal);
    const reached = rc === 0 || !watch ? null : watch.reached(rc);
    return { rc, timedOut, reached, ...output.end() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
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
function endGroup(child: ChildProcessByStdio<null, Readable, Readable>): void {
  killGroup(child.pid, 'SIGTERM');
  const last = setTimeout(() => {
    killGroup(child.pid, 'SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
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
