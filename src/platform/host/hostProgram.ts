/** The PATH of every program that is run. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TIMEOUT_MS = 10_000;

/**
 * Runs a small program of the host in a fixed environment and what is added to it; `rc` is 127 when it is missing, 137 when it takes
 * too long.
 */
export async function runHostProgram(
  [program, ...args]: readonly [string, ...string[]],
  added: Readonly<Record<string, string>> = {},
): Promise<{ rc: number; stdout: string }> {
  const { execFile } = await import('node:child_process');
  const env = { PATH: SYSTEM_PATH, LANG: 'C.UTF-8', ...added };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: '/', env, timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout) =>
      resolve({ rc: error === null ? 0 : exitCodeOf(error), stdout }),
    );
  });
}

function exitCodeOf({ code, killed }: { code?: unknown; killed?: boolean | undefined }): number {
  if (killed === true) return 128 + 9;
  return typeof code === 'number' ? code : 127;
}
