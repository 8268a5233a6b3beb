/** An error that the user of a script can fix; the message says how, and never contains a token. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/**
 * Runs a script's work. A UserError is printed as one sentence and ends the process with 1, a wrong option with 2; any other
 * error is a bug and is rethrown with its stack.
 */
export async function runScript<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === null) throw error;
    console.error((error as Error).message);
    process.exit(code);
  }
}

/** Null for a bug. System errors name their call; a failed program or build has already printed its reason. */
function exitCodeOf(error: unknown): number | null {
  if (error instanceof UserError) return 1;
  if (!(error instanceof Error)) return null;
  if ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')) return 2;
  return ['syscall', 'status', 'warnings'].some((key) => key in error) ? 1 : null;
}
