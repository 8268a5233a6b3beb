import { createRedactor } from '../../secrets/redaction/redactor.ts';
import { runProgram } from './childProcess.ts';

/** The PATH of every program that the agent runs. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TIMEOUT_S = 10;

/** Runs a small program of the host in a fixed environment; `rc` is 127 when it is missing. */
export async function runHostProgram(argv: readonly [string, ...string[]]): Promise<{ rc: number; stdout: string }> {
  const options = {
    cwd: '/',
    env: { PATH: SYSTEM_PATH, LANG: 'C.UTF-8' },
    timeoutS: TIMEOUT_S,
    redactor: createRedactor(new Set()),
  };
  const { rc, stdout } = await runProgram({ ...options, argv }, new AbortController().signal);
  return { rc, stdout };
}
