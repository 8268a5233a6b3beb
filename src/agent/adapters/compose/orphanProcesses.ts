import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../../../machines/fault.ts';
import { readText } from '../files/syncFs.ts';
import { diskFault, isEACCES, isENOENT } from '../../../core/errors.rules.ts';
import { statIfExists } from '../files/ifExists.ts';

const TERMINATION_TIMEOUT_MS = 5_000;
const POLL_INTERVAL_MS = 20;

/**
 * Terminates every compose or docker process that a killed tick left running on this project, because two at a time would undo
 * each other. A process is identified by its arguments and its HOME directory, which exists only while compose runs, so
 * a reused pid is never hit. Call only with the lock held. Returns whether there was one; throws Fault `interrupted`
 * when one does not exit.
 */
export async function terminateOrphans(project: string, home: string): Promise<boolean> {
  if ((await statIfExists(home)) === null) return false;
  for (let waited_ms = 0; waited_ms < TERMINATION_TIMEOUT_MS; waited_ms += POLL_INTERVAL_MS) {
    const orphans = await findProcesses(`\0${project}\0`, `\0HOME=${home}\0`);
    if (orphans.length === 0) return waited_ms > 0;
    for (const pid of orphans) kill(pid);
    await sleep(POLL_INTERVAL_MS);
  }
  throw new Fault('interrupted', 'a compose of a killed tick does not end; the next tick tries again');
}

async function findProcesses(argumentText: string, variable: string): Promise<number[]> {
  const entries = await readdir('/proc').catch((error: unknown) => {
    throw diskFault('read', '/proc', error);
  });
  const pids = entries.filter((name) => /^\d+$/.test(name));
  const matches = await Promise.all(
    pids.map(async (pid) => {
      if (!(await readProcText(`/proc/${pid}/cmdline`)).includes(argumentText)) return null;
      return `\0${await readProcText(`/proc/${pid}/environ`)}`.includes(variable) ? Number(pid) : null;
    }),
  );
  return matches.filter((pid) => pid !== null);
}

/**
 * Empty for a process that is gone, a zombie, or another user's. Other errors are thrown: an unreadable process might
 * be an orphan.
 */
async function readProcText(path: string): Promise<string> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error) || isEACCES(error) || (error as NodeJS.ErrnoException).code === 'ESRCH') return '';
    throw diskFault('read', path, error);
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has exited meanwhile
  }
}
