import { failedFault, Fault, refusedFault } from '../../../machines/fault.ts';
import { ByteCollector } from '../../core/streams.ts';
import type { Settings } from '../config/configKeys.ts';
import { wipe } from '../secrets/memory.ts';
import type { Redactor } from '../secrets/redactor.ts';
import {
  expectSuccess,
  formatLimitReached,
  formatStartError,
  type RunOptions,
  runProgram,
  type RunResult,
} from './programs.ts';
import { type ComposeRange, type ComposeVersion, isInRange } from './compose.rules.ts';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskFault, isEACCES, isENOENT } from '../../core/errors.rules.ts';
import { readText, statIfExists } from '../state/fileSystem.ts';

/** A program and its first arguments. */
export type Argv = [string, ...string[]];

/** A compose program that works with the engine. */
interface ComposeProgram {
  argv: Argv;
  version: ComposeVersion;
}

/** The package name depends on the repository that the host uses. */
const INSTALL_HINT =
  'install docker-compose-plugin (from Docker), docker-compose-v2 (Ubuntu) or docker-compose (Debian 13), or set compose:';
const PROBE_TIMEOUT_S = 20;

/** Runs `discover` once for all callers, until `resetDiscovery`; a failed discovery is not cached. */
export function createProgramFinder(discover: (signal: AbortSignal) => Promise<ComposeProgram>) {
  let cached: { program: Promise<ComposeProgram>; abandoned: AbortController } | null = null;
  const start = (signal: AbortSignal) => {
    const abandoned = new AbortController();
    const program = discover(AbortSignal.any([signal, abandoned.signal])).catch((error: unknown) => {
      cached = null;
      throw error;
    });
    return { program, abandoned };
  };
  return {
    find: (signal: AbortSignal) => (cached ??= start(signal)).program,
    resetDiscovery: async () => {
      cached?.abandoned.abort();
      await cached?.program.catch(() => undefined);
      cached = null;
    },
  };
}

/**
 * The first compose program on the host in the supported range. Throws `COMPOSE_UNSUPPORTED`, which names the found
 * versions.
 */
export async function findComposeProgram(
  settings: Settings,
  { range, ...options }: { env: Record<string, string>; cwd: string; redactor: Redactor; range: ComposeRange },
  signal: AbortSignal,
): Promise<ComposeProgram> {
  const candidates: Argv[] =
    settings.compose === 'auto' ? [['docker', 'compose'], ['docker-compose']] : [[settings.compose]];
  const rejected: string[] = [];
  for (const argv of candidates) {
    const { rc, startError, stdout } = await runProgram(
      { ...options, argv: [...argv, 'version', '--short'], timeoutS: PROBE_TIMEOUT_S },
      signal,
    );
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    const numbers = [Number(version?.[1]), Number(version?.[2])] as const;
    if (rc === 0 && version && isInRange(numbers, range)) return { argv, version: numbers };
    const found =
      startError === null ? `is ${rc === 0 && version ? version[0] : 'missing'}` : formatStartError(startError);
    rejected.push(`${argv.join(' ')} ${found}`);
  }
  throw failedFault('COMPOSE_UNSUPPORTED', `${range.requirement}, but ${rejected.join(', ')}; ${INSTALL_HINT}`);
}

/** The compose call that renders the model. */
export const renderCall = { name: 'config', args: ['--format', 'json'], timeoutS: 60 };

/** Larger than any model written by hand; a bigger one is an attempt to exhaust memory. */
const maxModelBytes = 32 * 1024 * 1024;

/**
 * Runs `render` and returns the model that it writes to stdout, as parsed JSON. The bytes are wiped. Throws
 * `COMPOSE_REFUSED`, or `COMPOSE_UNSUPPORTED` when compose cannot be started.
 */
export async function readModel(render: (onStdout: RunOptions['onStdout']) => Promise<RunResult>): Promise<unknown> {
  const collector = new ByteCollector();
  let bytes = 0;
  const { rc, startError, timedOut, limitReached, tail } = await render((chunk) => {
    bytes += chunk.length;
    if (bytes <= maxModelBytes) collector.add(chunk);
  });
  const [lastLine = ''] = tail.trim().split('\n').slice(-1);
  if (startError !== null)
    throw failedFault('COMPOSE_UNSUPPORTED', `docker compose config ${formatStartError(startError)}`);
  if (timedOut) throw unreadableBundle(`timed out after ${renderCall.timeoutS}s`);
  if (limitReached !== null) throw unreadableBundle(formatLimitReached(limitReached));
  if (rc !== 0) throw unreadableBundle(`rc=${rc}: ${lastLine}`);
  if (bytes > maxModelBytes) throw unreadableBundle('the model is bigger than 32 MiB');
  const output = collector.take();
  try {
    return parseModel(output.toString());
  } finally {
    wipe(output);
  }
}

/** The result of compose for the configuration of a release. */
interface ConfigurationHashes {
  /** Version of this compose. */
  version: string;
  /** By service; the fault when compose does not print them. */
  hashes: ReadonlyMap<string, string> | Fault;
}

type HashCall = Pick<RunOptions, 'timeoutS' | 'onStdout'> & { name: string; args: string[] };

/** The configuration hash that this compose computes for each service. The files contain secrets, the hashes do not. */
export async function readHashes(run: (call: HashCall) => Promise<RunResult>): Promise<ConfigurationHashes> {
  const { timeoutS } = renderCall;
  const read = async (name: string, args: string[]): Promise<string | Fault> => {
    const collector = new ByteCollector();
    const onStdout: RunOptions['onStdout'] = (chunk) => collector.add(chunk);
    const result = await run({ name, args, timeoutS, onStdout });
    const output = collector.take().toString();
    try {
      expectSuccess(`compose ${[name, ...args].join(' ')}`, result, { code: 'UP_FAILED', timeoutS });
    } catch (error) {
      return error as Fault;
    }
    return output;
  };
  const found = await read('version', ['--short']);
  const version = typeof found === 'string' ? found.trim().replace(/^v/, '') : '';
  const lines = await read('config', ['--hash', '*']);
  if (typeof lines !== 'string') return { version, hashes: lines };
  const hashes = lines
    .matchAll(/^(\S+) ([0-9a-f]{64})$/gm)
    .map(([, service = '', hash = '']) => [service, hash] as const);
  return { version, hashes: new Map(hashes) };
}

/** Does not rethrow the parser's error, which quotes the input. */
function parseModel(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadableBundle('the model is not JSON');
  }
}

function unreadableBundle(reason: string): Fault {
  return refusedFault([{ code: 'COMPOSE_REFUSED', detail: `docker compose config cannot read the bundle: ${reason}` }]);
}

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
