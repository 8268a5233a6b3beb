import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../../../machines/fault.ts';
import { readText } from '../files/atOnce.ts';
import { diskFault, isEACCES, isENOENT } from '../files/files.ts';
import { statsIfThere } from '../files/ifThere.ts';

const PATIENCE_MS = 5_000;
const STEP_MS = 20;

/**
 * Ends every compose that a killed tick left at work on this project: two at a time would undo each other. It is known
 * by its arguments and by its home, which is there only while a compose works, so no pid that was given away is hit.
 * Only under the lock. Tells whether there was one; throws Fault `interrupted` when one does not end.
 */
export async function endOrphans(project: string, home: string): Promise<boolean> {
  if ((await statsIfThere(home)) === null) return false;
  for (let waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += STEP_MS) {
    const orphans = await processesWith(`\0-p\0${project}\0`, `\0HOME=${home}\0`);
    if (orphans.length === 0) return waited_ms > 0;
    for (const pid of orphans) end(pid);
    await sleep(STEP_MS);
  }
  throw new Fault('interrupted', 'a compose of a killed tick does not end; the next tick tries again');
}

async function processesWith(words: string, variable: string): Promise<number[]> {
  const names = await readdir('/proc').catch((error: unknown) => {
    throw diskFault('read', '/proc', error);
  });
  const pids = names.filter((name) => /^\d+$/.test(name));
  const told = await Promise.all(
    pids.map(async (pid) => {
      if (!(await textOf(`/proc/${pid}/cmdline`)).includes(words)) return null;
      return `\0${await textOf(`/proc/${pid}/environ`)}`.includes(variable) ? Number(pid) : null;
    }),
  );
  return told.filter((pid) => pid !== null);
}

/** Empty for a process that is gone, dead, or another user's; any other might be an orphan that cannot be seen. */
async function textOf(path: string): Promise<string> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error) || isEACCES(error) || (error as NodeJS.ErrnoException).code === 'ESRCH') return '';
    throw diskFault('read', path, error);
  });
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended by itself
  }
}
