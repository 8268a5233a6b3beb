import { failedFault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redactor } from '../../secrets/redaction/redactor.ts';
import { runProgram, formatStartError } from '../host/childProcess.ts';

/** A program and its first arguments. */
export type Argv = [string, ...string[]];

/** The package name depends on the repository that the host uses. */
const INSTALL_HINT =
  'install docker-compose-plugin (from Docker), docker-compose-v2 (Ubuntu) or docker-compose (Debian 13), or set compose:';
const MIN_VERSION = [2, 20] as const;
const PROBE_TIMEOUT_S = 20;

/** Runs `discover` once for all callers, until `resetDiscovery`; a failed discovery is not cached. */
export function createProgramFinder(discover: (signal: AbortSignal) => Promise<Argv>) {
  let cached: { program: Promise<Argv>; abandoned: AbortController } | null = null;
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
 * The first compose program on the host that is new enough. Throws `COMPOSE_UNSUPPORTED`, which names what was found
 * instead.
 */
export async function findComposeProgram(
  settings: Settings,
  options: { env: Record<string, string>; cwd: string; redactor: Redactor },
  signal: AbortSignal,
): Promise<Argv> {
  const candidates: Argv[] =
    settings.compose === 'auto' ? [['docker', 'compose'], ['docker-compose']] : [[settings.compose]];
  const rejected: string[] = [];
  for (const argv of candidates) {
    const { rc, startError, stdout } = await runProgram(
      { ...options, argv: [...argv, 'version', '--short'], timeoutS: PROBE_TIMEOUT_S },
      signal,
    );
    const version = /(\d+)\.(\d+)\.\d+/.exec(stdout);
    if (rc === 0 && version && isSupported(Number(version[1]), Number(version[2]))) return argv;
    const found =
      startError === null ? `is ${rc === 0 && version ? version[0] : 'missing'}` : formatStartError(startError);
    rejected.push(`${argv.join(' ')} ${found}`);
  }
  const requirement = `compose ${MIN_VERSION.join('.')} or newer is needed, but ${rejected.join(', ')}`;
  throw failedFault('COMPOSE_UNSUPPORTED', `${requirement}; ${INSTALL_HINT}`);
}

function isSupported(major: number, minor: number): boolean {
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}
