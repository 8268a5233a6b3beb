import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Fault, stoppedFault } from '../../../machines/fault.ts';
import { DiskFault } from '../../core/errors.rules.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { createLimiter, createQueue, type Limiter } from '../core/limiter.ts';
import {
  archiveProgram,
  type ArchiveTasks,
  type TaskError,
  type TaskOutcome,
  type ThreadData,
} from './archiveTasks.ts';

type TaskName = keyof ArchiveTasks;
type RequestOf<Name extends TaskName> = Parameters<ArchiveTasks[Name]>[0];
type ResultOf<Name extends TaskName> = Awaited<ReturnType<ArchiveTasks[Name]>>;

/**
 * Runs a task on archives. Throws Fault `stopped` on abort, and 503 `ARCHIVE_UNCHECKED` if the task exceeds its time or
 * memory.
 */
export type RunArchiveTask = <Name extends TaskName>(
  name: Name,
  request: RequestOf<Name>,
  signal: AbortSignal,
) => Promise<ResultOf<Name>>;

/** Threads that run tasks on archives. */
export interface ArchiveWorkers {
  run: RunArchiveTask;
  /** Ends all threads; their tasks fail. */
  close: () => Promise<void>;
}

/** Threads at once: other tasks wait, so that the archives of one environment leave a processor to requests. */
const THREADS = 2;
/** Milliseconds of a thread without a task. */
const IDLE_MS = 30_000;

/** Limits of a thread. */
export interface ThreadLimits {
  /** Mebibytes of objects. Files are read and written in small parts, which count only for a moment. */
  memoryMiB: number;
  /** Longest time of each task in milliseconds; reading a large archive is bound by the disk. */
  timeMs: Record<TaskName, number>;
}

const threadLimits: ThreadLimits = {
  memoryMiB: 256,
  timeMs: { unpack: 240_000, read: 240_000, judge: 60_000, search: 240_000, compare: 60_000, pack: 240_000 },
};

/** Runs tasks in threads, so that a slow archive does not delay requests. */
export function createArchiveWorkers(limits = threadLimits, program = archiveProgram): ArchiveWorkers {
  const inTurn = createQueue(THREADS);
  const threads = new Set<Worker>();
  const idle = new Map<Worker, NodeJS.Timeout>();
  const start = () => {
    const thread = startThread(program, limits.memoryMiB);
    threads.add(thread);
    thread.once('exit', () => {
      threads.delete(thread);
      clearTimeout(idle.get(thread));
      idle.delete(thread);
    });
    return thread;
  };
  const take = () => {
    const [waiting] = idle;
    if (waiting === undefined) return start();
    const [thread, timer] = waiting;
    clearTimeout(timer);
    idle.delete(thread);
    return thread;
  };
  return {
    run: (name, request, signal) =>
      inTurn(async () => {
        const thread = take();
        const outcome = await outcomeOf(thread, { name, request }, { signal, limits });
        idle.set(thread, setTimeout(() => void thread.terminate(), IDLE_MS).unref());
        if ('error' in outcome) throw errorOf(outcome.error);
        return outcome.result as never;
      }),
    close: async () => {
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

/** Starts a thread, which does not keep the process alive. It has no part of the environment. */
function startThread(program: URL | string, memoryMiB: number): Worker {
  const thread = new Worker(program, {
    eval: typeof program === 'string',
    workerData: 'archive-tasks' satisfies ThreadData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMiB, maxYoungGenerationSizeMb: 16 },
  });
  thread.unref();
  return thread;
}

/** The outcome of a task; ends the thread if there is none. */
async function outcomeOf(
  thread: Worker,
  task: { name: TaskName; request: unknown },
  { signal, limits }: { signal: AbortSignal; limits: ThreadLimits },
): Promise<TaskOutcome> {
  const { name } = task;
  const timeMs = limits.timeMs[name];
  const over = new AbortController();
  const timeout = AbortSignal.timeout(timeMs);
  const ending = { signal: AbortSignal.any([signal, timeout, over.signal]) };
  const exit = once(thread, 'exit', ending).then(() => Promise.reject(new Error('the thread has ended')));
  try {
    const message = once(thread, 'message', ending);
    thread.postMessage(task);
    const [outcome] = (await Promise.race([message, exit])) as [TaskOutcome];
    return outcome;
  } catch (error) {
    await thread.terminate();
    if (signal.aborted) throw stoppedFault();
    throw unchecked(timeout.aborted ? `took longer than ${timeMs / 1000} s` : reasonOf(error, limits));
  } finally {
    over.abort();
    exit.catch(() => undefined);
  }
}

function reasonOf(error: unknown, { memoryMiB }: ThreadLimits): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? `needed more than ${memoryMiB} MiB of memory` : `failed: ${message}`;
}

/** The 503 error for an archive whose check did not end. */
function unchecked(reason: string): ApiError {
  const message = `checking the archive ${reason}`;
  return new ApiError({ status: 503, code: 'ARCHIVE_UNCHECKED', message, retryAfterS: 60 });
}

function errorOf(error: TaskError): Error {
  if ('stack' in error) return Object.assign(new Error(error.name), error);
  const { ending, isOfDisk, lines, ...details } = error.fault;
  const [line = '', ...moreLines] = lines;
  return new (isOfDisk ? DiskFault : Fault)(ending, line, { ...details, moreLines });
}

/** Largest number of concurrent comparisons: each writes up to `limits.unpacked_bytes` to the disk. */
const COMPARISONS_AT_ONCE = 2;

/** Creates the limiter of an instance's comparisons. */
export function limitComparisons(): Limiter {
  return createLimiter(COMPARISONS_AT_ONCE, 'too many bundles are compared at once');
}
