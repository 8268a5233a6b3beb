/** Something that keeps a version from being published; the message says what to do and holds no token. */
export class Mishap extends Error {
  override readonly name = 'Mishap';
}

/** Does the work of a command: its exit code is 1 after a mishap, which is told in one line. */
export async function carryOut(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Mishap)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
