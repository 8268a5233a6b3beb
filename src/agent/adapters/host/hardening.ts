import { writeFileSync } from 'node:fs';

/**
 * Closes the ways in which the runtime would give this process's memory away; to be called before a secret is read.
 *
 * - A core dump holds no memory, neither this process's nor that of the programs it starts (Linux).
 * - No diagnostic report is written, whatever asks for it; SIGUSR2 does nothing.
 * - The inspector is closed, and SIGUSR1 does not open it.
 */
export function harden(): void {
  emptyCoreDumps();
  Object.assign(process.report, { reportOnSignal: false, reportOnFatalError: false, reportOnUncaughtException: false });
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.removeAllListeners(signal).on(signal, ignore);
  if (mayBeInspected()) process.getBuiltinModule('node:inspector').close();
}

/** Not by a signal nor by an option, as the package starts it: then nothing loads the inspector, which takes its time. */
function mayBeInspected(): boolean {
  const { env, execArgv } = process;
  const isDeaf = execArgv.includes('--disable-sigusr1') && !execArgv.some((option) => option.startsWith('--inspect'));
  return !isDeaf || env['NODE_OPTIONS'] !== undefined;
}

/** No kind of memory passes the filter; where there is no such file, the unit's limit has to do. */
function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // not this kernel, or not this user's own process
  }
}

function ignore(): void {
  // a signal that nobody needs here
}
