/** Something that whoever runs a script can mend; the message says what to do and holds no token. */
export class Mishap extends Error {
  override readonly name = 'Mishap';
}

/**
 * Does the work of a script. A mishap is told in one sentence and ends it with 1, a wrong option with 2; anything else is a
 * bug and keeps its stack.
 */
export async function carryOut<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = exitOf(error);
    if (code === null) throw error;
    console.error((error as Error).message);
    process.exit(code);
  }
}

/** Null for a bug. The system's refusal names its call; a program that failed, or a build, has told why by then. */
function exitOf(error: unknown): number | null {
  if (error instanceof Mishap) return 1;
  if (!(error instanceof Error)) return null;
  if ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')) return 2;
  return ['syscall', 'status', 'warnings'].some((key) => key in error) ? 1 : null;
}
