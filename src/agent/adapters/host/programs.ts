import { createRedactor } from '../../secrets/redact.ts';
import { run } from '../compose/process.ts';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TIMEOUT_S = 10;

/** Runs one of the host's own small programs, in its own environment; 127 stands for one that is not there. */
export async function askHost(argv: readonly [string, ...string[]]): Promise<{ rc: number; stdout: string }> {
  const how = { cwd: '/', env: { PATH, LANG: 'C.UTF-8' }, timeoutS: TIMEOUT_S, redactor: createRedactor(new Set()) };
  const { rc, stdout } = await run({ ...how, argv }, new AbortController().signal);
  return { rc, stdout };
}
