import { writeFileSync } from 'node:fs';

/**
 * Closes the ways by which the runtime exposes this process's memory. Call before any secret is read.
 *
 * - A core dump contains no memory, of this process or of programs it starts (Linux).
 * - No diagnostic report is written; SIGUSR2 does nothing.
 * - The inspector is closed; SIGUSR1 does not open it.
 */
export function hardenProcess(): void {
  emptyCoreDumps();
  Object.assign(process.report, { reportOnSignal: false, reportOnFatalError: false, reportOnUncaughtException: false });
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.removeAllListeners(signal).on(signal, ignore);
  if (mayBeInspected()) process.getBuiltinModule('node:inspector').close();
}

/**
 * False when the process was started as the package does, with no signal or option that opens the inspector. Then the
 * inspector module need not be loaded, which is slow.
 */
function mayBeInspected(): boolean {
  const { env, execArgv } = process;
  const isDisabled =
    execArgv.includes('--disable-sigusr1') && !execArgv.some((option) => option.startsWith('--inspect'));
  return !isDisabled || env['NODE_OPTIONS'] !== undefined;
}

/** Filters out all kinds of memory; without this file only the unit's limit protects. */
function emptyCoreDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // another kernel, or another user's process
  }
}

function ignore(): void {
  // this signal has no use here
}
